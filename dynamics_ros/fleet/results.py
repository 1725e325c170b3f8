# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags of a fleet and the tables of results: one row per bag, and per contact.

Each table is a folder of Parquet files ``robot=NAME/bag=NAME/part.parquet``, which DuckDB, Polars,
Spark and pandas read as one table with the columns ``robot`` and ``bag``. A file appears only once
it is complete.
"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.files import completed
from dynamics_ros.recordings.bag import METADATA

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as error:
    MISSING: str = f'the Python package pyarrow is missing (pip install pyarrow): {error}'
else:
    MISSING = ''

FILES = ('.bag', '.mcap', '.db3')

SUMMARY, EVENTS = 'summary', 'events'

TYPES = {
    'text': lambda: pa.string(),
    'texts': lambda: pa.list_(pa.string()),
    'number': lambda: pa.float64(),
    'numbers': lambda: pa.list_(pa.float64()),
    'count': lambda: pa.int64(),
    'stamp': lambda: pa.timestamp('ns'),
    'boolean': lambda: pa.bool_(),
}

COLUMNS = {
    SUMMARY: {
        'text': 'path model status reason',
        'stamp': 'begin end',
        'number': 'duration rate jitter',
        'count': 'messages refused estimates gaps contacts false_contacts',
        'texts': 'findings joints',
        'numbers': 'effort_rms residual_rms viscous coulomb friction friction_deviation '
        'friction_declared',
    },
    EVENTS: {
        'text': 'kind link joint frame',
        'stamp': 'begin',
        'number': 'duration force torque',
        'numbers': 'vector',
        'boolean': 'false_contact',
    },
}
"""Columns of each table by type; lists have one value per joint, in the order of ``joints``."""


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


def find_bags(inputs: Iterable[str], robot: str = '', output: Path | None = None) -> list[Bag]:
    """Finds the bags in files, folders and patterns, sorted by robot and name, without duplicates.

    Args:
        inputs: paths of bags, folders to search, or patterns such as ``fleet/*/*.mcap``.
        robot: name of the robot of all bags; '' uses the name of the folder that contains a bag.
        output: folder of results, which is not searched.

    Raises:
        InvalidArgumentError: an input without bags.
    """
    results = Path(os.path.realpath(output)) if output is not None else None
    paths: dict[Path, Path] = {}
    for text in inputs:
        matching = [Path(text)] if Path(text).exists() else map(Path, sorted(glob.glob(text)))
        searched = {results} - {Path(os.path.realpath(text)), None}
        found = [bag for path in matching for bag in _bags_in(path, searched)]
        if not found:
            given = 'no recording is there'
            raise InvalidArgumentError(text, given, 'a bag, a folder of bags or a pattern')
        for path in found:
            paths.setdefault(Path(os.path.realpath(path)), path)
    named = []
    for path in paths.values():
        # Links are not resolved: their names are chosen by the user.
        whole = Path(os.path.abspath(path))
        stem = whole.stem if whole.is_file() else whole.name
        name = re.sub(r'[^\w.+-]', '_', stem) or 'bag'
        named.append(Bag(robot or whole.parent.name or 'robot', name, path))
    counts = Counter((bag.robot, bag.name) for bag in named)
    again: Counter[tuple[str, str]] = Counter()
    bags = []
    for bag in sorted(named):
        key = bag.robot, bag.name
        again[key] += 1
        number = f'-{again[key]}' if counts[key] > 1 else ''
        bags.append(Bag(bag.robot, f'{bag.name}{number}', bag.path))
    return bags


def _bags_in(path: Path, searched: set[Path | None]) -> Iterator[Path]:
    """Yields the bags in a folder, or the path itself if it is a bag.

    Args:
        path: file or folder.
        searched: real paths of folders that are not searched again, which ends cyclic links.
    """
    try:
        # A file that is named by the user is accepted with any extension.
        if path.is_file() or (path / METADATA).is_file():
            yield path
            return
        real = Path(os.path.realpath(path))
        inside = [] if real in searched else sorted(path.iterdir())
    except OSError:
        # An inaccessible path is reported with its reason when it is read.
        yield path
        return
    searched.add(real)
    for inner in inside:
        if inner.is_dir() or inner.suffix in FILES:
            yield from _bags_in(inner, searched)


def folder_name(name: str) -> str:
    """Returns a name as folder name, percent-encoded so that readers of partitions decode it."""
    if not name.strip('.'):
        return quote(name).replace('.', '%2E')
    return re.sub(r'[^\w.+ -]', lambda found: quote(found[0], safe=''), name)


def require_pyarrow() -> None:
    """Checks that pyarrow is installed.

    Raises:
        DynamicsRosError: it is not installed.
    """
    if MISSING:
        raise DynamicsRosError(MISSING)


def place(output: Path, table: str, bag: Bag) -> Path:
    """Returns the file of a bag in a table."""
    robot = f'robot={folder_name(bag.robot)}'
    return output / table / robot / f'bag={bag.name}' / 'part.parquet'


def write_rows(output: Path, table: str, bag: Bag, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes the rows of a bag to a file that gets its name once it is complete.

    Raises:
        NotWrittenError: the file cannot be written.
    """
    with (
        completed(place(output, table, bag)) as unfinished,
        parquet.ParquetWriter(unfinished, _schema(table), compression='zstd') as writer,
    ):
        rows = [dict(row) for row in rows]
        writer.write_table(pa.Table.from_pylist(rows, schema=_schema(table)))


def _schema(table: str) -> Any:
    return pa.schema(
        [(name, TYPES[kind]()) for kind, names in COLUMNS[table].items() for name in names.split()]
    )
