# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which bags are analyzed, and what they are called."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.recordings.bag import METADATA

FILES = ('.bag', '.mcap', '.db3')


@dataclass(frozen=True, order=True)
class Bag:
    """A recording of a fleet.

    Attributes:
        robot: that it is of: the name of the folder that the bag lies in.
        name: of the bag, one of a kind for each robot.
        path: of the file, or of the folder of a rosbag2.
    """

    robot: str
    name: str
    path: Path


WRITTEN = 'bags'
"""Folder of the output with the bags that are written."""


def folder_name(name: str) -> str:
    """A name as that of a folder; what readers of partitions decode again, as in addresses."""
    if not name.strip('.'):
        return quote(name).replace('.', '%2E')
    return re.sub(r'[^\w.+ -]', lambda found: quote(found[0], safe=''), name)


def find_bags(inputs: Iterable[str], robot: str = '', output: Path | None = None) -> list[Bag]:
    """The bags in files, folders and globs, in the order of robots and names, each once.

    Args:
        inputs: paths of bags, folders that are searched, or patterns such as ``fleet/*/*.mcap``.
        robot: name of the robot of all bags; '' takes that of the folder that a bag lies in.
        output: folder of results, which is left out of folders that are searched.

    Raises:
        InvalidArgumentError: an input that holds no bag, or bags where results are written.
    """
    output = _real(output) if output is not None else None
    paths: dict[Path, Path] = {}
    for text in inputs:
        matching = [Path(text)] if Path(text).exists() else map(Path, sorted(glob.glob(text)))
        passed: set[Path] = set()
        found = [bag for path in matching for bag in _bags_in(path, passed, output)]
        if not found:
            given = 'there is none'
            raise InvalidArgumentError(text, given, 'a bag, a folder of bags or a pattern')
        for path in found:
            real = _real(path)
            if output is not None and output / WRITTEN in real.parents:
                raise InvalidArgumentError(
                    '--output', f'{path} lies where bags are written', 'another folder'
                )
            paths.setdefault(real, path)
    named = [
        (robot or _absolute(path).parent.name or 'robot', _name(path), path)
        for path in paths.values()
    ]
    counts = Counter((owner, name) for owner, name, _ in named)
    again: Counter[tuple[str, str]] = Counter()
    bags = []
    for owner, name, path in sorted(named, key=lambda one: (one[0], one[1], str(one[2]))):
        if counts[owner, name] > 1:
            again[owner, name] += 1
            name = f'{name}-{again[owner, name]}'
        bags.append(Bag(owner, name, path))
    return bags


def _bags_in(path: Path, passed: set[Path], output: Path | None) -> Iterator[Path]:
    """The bags in a folder that is searched, or the one that a path is.

    Args:
        path: of a file or folder.
        passed: real paths of folders that have been searched: links may go round in circles.
        output: real path of a folder within, which is left out.
    """
    try:
        # A file that was named is looked at whatever it is called.
        is_bag = path.is_file() or (path / METADATA).is_file()
        inside = [] if is_bag or _real(path) in passed else sorted(path.iterdir())
    except OSError:
        # One that cannot be looked at is named with the reason when it is read.
        is_bag, inside = True, []
    if is_bag:
        yield path
        return
    passed.add(_real(path))
    for inner in inside:
        if _real(inner) != output and (inner.is_dir() or inner.suffix in FILES):
            yield from _bags_in(inner, passed, output)


def _real(path: Path) -> Path:
    """Where links lead; also of those that go round in circles."""
    return Path(os.path.realpath(path))


def _absolute(path: Path) -> Path:
    """Without going along links: a person has named what lies there."""
    return Path(os.path.abspath(path))


def _name(path: Path) -> str:
    """A name that may be that of a folder."""
    path = _absolute(path)
    stem = path.stem if path.is_file() else path.name
    return re.sub(r'[^\w.+-]', '_', stem) or 'bag'
