# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which bags are analyzed, and what they are called."""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

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


def find_bags(inputs: Iterable[str], robot: str = '') -> list[Bag]:
    """The bags in files, folders and globs, in the order of robots and names.

    Args:
        inputs: paths of bags, folders that are searched, or patterns such as ``fleet/*/*.mcap``.
        robot: name of the robot of all bags; '' takes that of the folder that a bag lies in.

    Raises:
        InvalidArgumentError: an input that holds no bag.
    """
    paths: dict[Path, None] = {}
    for text in inputs:
        matching = [Path(text)] if Path(text).exists() else map(Path, sorted(glob.glob(text)))
        found = [bag for path in matching for bag in _bags_in(path)]
        if not found:
            given = 'there is none'
            raise InvalidArgumentError(text, given, 'a bag, a folder of bags or a pattern')
        paths |= dict.fromkeys(found)
    named = [(robot or path.resolve().parent.name or 'robot', _name(path), path) for path in paths]
    counts = Counter((owner, name) for owner, name, _ in named)
    again: Counter[tuple[str, str]] = Counter()
    bags = []
    for owner, name, path in sorted(named, key=lambda one: (one[0], one[1], str(one[2]))):
        if counts[owner, name] > 1:
            again[owner, name] += 1
            name = f'{name}-{again[owner, name]}'
        bags.append(Bag(owner, name, path))
    return bags


def _bags_in(path: Path) -> Iterator[Path]:
    if path.is_file():
        # A file that was named is looked at whatever it is called.
        yield path
    elif (path / METADATA).is_file():
        yield path
    elif path.is_dir():
        for inner in sorted(path.iterdir()):
            if inner.is_dir() or inner.suffix in FILES:
                yield from _bags_in(inner)


def _name(path: Path) -> str:
    """A name that may be that of a folder."""
    stem = path.stem if path.is_file() else path.name
    return re.sub(r'[^\w.+-]', '_', stem) or 'bag'
