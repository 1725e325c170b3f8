# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Results as Parquet tables: one row per bag, one row per event, and one row per sample.

Each table is a folder of files ``robot=NAME/bag=NAME/part.parquet``, which DuckDB, Polars, Spark
and pandas read as one table with the columns ``robot`` and ``bag``. A file appears only once it is
complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.files import completed

from .bags import Bag, folder_name
from .residuals import Block

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as error:
    MISSING: str = f'the Python package pyarrow is missing (pip install pyarrow): {error}'
else:
    MISSING = ''

SUMMARY, EVENTS, SIGNALS = 'summary', 'events', 'signals'

TEXT, TEXTS, NUMBER, COUNT, NUMBERS, STAMP, BOOLEAN = (
    *('string', 'texts', 'float64', 'int64', 'numbers', 'stamp', 'bool'),
)

COLUMNS: dict[str, dict[str, str]] = {
    SUMMARY: {
        **dict.fromkeys(('path', 'model', 'status', 'reason'), TEXT),
        **dict.fromkeys(('begin', 'end'), STAMP),
        **dict.fromkeys(('duration', 'rate', 'jitter'), NUMBER),
        **dict.fromkeys(('messages', 'refused', 'estimates', 'gaps'), COUNT),
        'longest_gap': NUMBER,
        'clock_jumps': COUNT,
        'largest_clock_jump': NUMBER,
        'late': COUNT,
        'findings': TEXTS,
        'joints': TEXTS,
        **dict.fromkeys(
            (
                *('effort_rms', 'residual_rms', 'residual_percent', 'moving', 'viscous'),
                *('coulomb', 'offset', 'friction', 'friction_deviation', 'friction_declared'),
            ),
            NUMBERS,
        ),
        **dict.fromkeys(('contacts', 'collisions', 'false_contacts', 'payload_changes'), COUNT),
        'contact_time': NUMBER,
    },
    EVENTS: {
        'kind': TEXT,
        'begin': STAMP,
        'duration': NUMBER,
        **dict.fromkeys(('link', 'joint', 'frame'), TEXT),
        **dict.fromkeys(('force', 'torque', 'mass'), NUMBER),
        'vector': NUMBERS,
        'false_contact': BOOLEAN,
    },
    SIGNALS: {
        'time': STAMP,
        **dict.fromkeys(('position', 'velocity', 'effort', 'external_torque'), NUMBERS),
        'contact_state': COUNT,
    },
}
"""Columns of each table; lists have one value per joint, in the order of ``joints``."""


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
    """Writes the rows of a bag.

    Raises:
        NotWrittenError: the file cannot be written.
    """
    with SignalFile(place(output, table, bag), table) as file:
        file.write(pa.Table.from_pylist([dict(row) for row in rows], schema=_schema(table)))


def read_rows(output: Path, table: str, bags: Sequence[Bag]) -> list[dict[str, Any]]:
    """Returns the rows of some bags with the columns ``robot`` and ``bag``; times in ns."""
    found = []
    for bag in bags:
        path = place(output, table, bag)
        if path.is_file():
            table_of_bag = parquet.ParquetFile(path).read()
            for i, field in enumerate(table_of_bag.schema):
                # datetime objects of Python have no nanoseconds.
                if pa.types.is_timestamp(field.type):
                    whole = table_of_bag.column(i).cast(pa.int64())
                    table_of_bag = table_of_bag.set_column(i, field.name, whole)
            rows = table_of_bag.to_pylist()
            found += [{'robot': bag.robot, 'bag': bag.name, **row} for row in rows]
    return found


class SignalFile:
    """A Parquet file that gets its name once it is complete; a context manager."""

    def __init__(self, path: Path, table: str = SIGNALS) -> None:
        """Prepares a file with the columns of a table."""
        self._path, self._schema = path, _schema(table)

    def __enter__(self) -> SignalFile:
        with ExitStack() as stack:
            unfinished = stack.enter_context(completed(self._path))
            self._writer = stack.enter_context(
                parquet.ParquetWriter(unfinished, self._schema, compression='zstd')
            )
            self._contexts = stack.pop_all()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._contexts.__exit__(*raised)

    def write(self, table: Any) -> None:
        """Writes an Arrow table with the columns of the file."""
        self._writer.write_table(table)

    def add(self, block: Block) -> None:
        """Writes a block of samples."""
        columns = (block.q, block.v, block.effort, block.external)
        arrays = [
            pa.array(block.time, pa.timestamp('ns')),
            *(_lists(values) for values in columns),
            pa.array(block.state, pa.int64()),
        ]
        self.write(pa.Table.from_arrays(arrays, schema=self._schema))


def _lists(values: Any) -> Any:
    """Returns rows (n, k) as an Arrow column of lists."""
    count, size = values.shape
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * size)
    return pa.ListArray.from_arrays(offsets, pa.array(values.ravel(), pa.float64()))


def _schema(table: str) -> Any:
    types = {
        TEXT: pa.string(),
        TEXTS: pa.list_(pa.string()),
        NUMBER: pa.float64(),
        COUNT: pa.int64(),
        NUMBERS: pa.list_(pa.float64()),
        STAMP: pa.timestamp('ns'),
        BOOLEAN: pa.bool_(),
    }
    return pa.schema([(name, types[kind]) for name, kind in COLUMNS[table].items()])
