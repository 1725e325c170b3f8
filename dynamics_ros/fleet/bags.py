# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Search for bags, and their names."""

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
        robot: name of the robot, by default that of the folder that contains the bag.
        name: name of the bag, unique per robot.
        path: the file, or the folder of a rosbag2.
    """

    robot: str
    name: str
    path: Path


WRITTEN = 'bags'
"""Folder of the output that contains written bags."""


def folder_name(name: str) -> str:
    """Returns a name as folder name, percent-encoded so that readers of partitions decode it."""
    if not name.strip('.'):
        return quote(name).replace('.', '%2E')
    return re.sub(r'[^\w.+ -]', lambda found: quote(found[0], safe=''), name)


def find_bags(inputs: Iterable[str], robot: str = '', output: Path | None = None) -> list[Bag]:
    """Finds the bags in files, folders and patterns, sorted by robot and name, without duplicates.

    Args:
        inputs: paths of bags, folders to search, or patterns such as ``fleet/*/*.mcap``.
        robot: name of the robot of all bags; '' uses the name of the folder that contains a bag.
        output: folder of results, which is not searched.

    Raises:
        InvalidArgumentError: an input without bags, or bags in the folder of written bags.
    """
    output = _real(output) if output is not None else None
    paths: dict[Path, Path] = {}
    for text in inputs:
        matching = [Path(text)] if Path(text).exists() else map(Path, sorted(glob.glob(text)))
        searched: set[Path] = set()
        found = [bag for path in matching for bag in _bags_in(path, searched, output)]
        if not found:
            given = 'no recording is there'
            raise InvalidArgumentError(text, given, 'a bag, a folder of bags or a pattern')
        for path in found:
            real = _real(path)
            if output is not None and output / WRITTEN in real.parents:
                raise InvalidArgumentError(
                    '--output', f'{path} is in the folder where bags are written', 'another folder'
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


def _bags_in(path: Path, searched: set[Path], output: Path | None) -> Iterator[Path]:
    """Yields the bags in a folder, or the path itself if it is a bag.

    Args:
        path: file or folder.
        passed: real paths of folders already searched, to stop at cyclic links.
        output: real path of a folder that is skipped.
    """
    try:
        # An explicitly named file is accepted with any extension.
        is_bag = path.is_file() or (path / METADATA).is_file()
        inside = [] if is_bag or _real(path) in searched else sorted(path.iterdir())
    except OSError:
        # An inaccessible path is reported with its reason when it is read.
        is_bag, inside = True, []
    if is_bag:
        yield path
        return
    searched.add(_real(path))
    for inner in inside:
        if _real(inner) != output and (inner.is_dir() or inner.suffix in FILES):
            yield from _bags_in(inner, searched, output)


def _real(path: Path) -> Path:
    """Resolves links, including cyclic ones."""
    return Path(os.path.realpath(path))


def _absolute(path: Path) -> Path:
    """Returns the absolute path without resolving links, whose names the user has chosen."""
    return Path(os.path.abspath(path))


def _name(path: Path) -> str:
    """Returns the name of a bag, usable as a folder name."""
    path = _absolute(path)
    stem = path.stem if path.is_file() else path.name
    return re.sub(r'[^\w.+-]', '_', stem) or 'bag'
