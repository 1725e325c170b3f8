# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of numeric columns from CSV and Parquet files of various programs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification import UnusableRecordingError

Array = NDArray[np.float64]

SEPARATORS = (',', ';', '\t')

MAXIMUM_NUMBERS = 500_000_000
"""Limit of the numbers in a Parquet file; seven joints at 1 kHz fill it in six hours."""

MAX_BROKEN = 0.1
"""Maximum share of lines with a wrong number of columns."""


def read_csv(path: Path) -> tuple[dict[str, Array], list[str]]:
    """Reads columns separated by commas, semicolons or tabs, by name; returns also notes.

    Raises:
        OSError, ValueError: the file cannot be read.
    """
    lines = path.read_text(encoding='utf-8-sig').splitlines()
    # Comments may precede the line of names, which may itself begin with '#'.
    comments = [line for line in lines[:100] if line.startswith('#')]
    lines = [line for line in lines if line.strip() and not line.startswith('#')]
    separator = max(SEPARATORS, key=(lines or comments or [''])[0].count)
    if comments and lines and comments[-1].count(separator) == lines[0].count(separator):
        lines.insert(0, comments[-1].lstrip('#'))
    if not lines:
        raise ValueError('it is empty')
    header = [name.strip().strip('"\'') for name in lines[0].split(separator)]
    if not lines[1:]:
        raise ValueError('it holds names of columns, and no rows')
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        if twice:
            raise ValueError(f'two columns are named {twice!r}')
    commas = separator == ';' and '.' not in ''.join(lines[1:20])
    whole = [line for line in lines[1:] if line.count(separator) == len(header) - 1]
    broken = len(lines) - 1 - len(whole)
    if broken > MAX_BROKEN * len(lines) + 1:
        raise ValueError(
            f'{broken} of {len(lines) - 1} lines have another number of columns than the '
            f'{len(header)} names'
        )
    texts = [line.replace(',', '.') for line in whole] if commas else whole
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        values = np.genfromtxt(texts, delimiter=separator, ndmin=2)
    columns: dict[str, Array] = {
        name: column for name, column in zip(header, values.T, strict=True) if name
    }
    for name, column in columns.items():
        if not np.isfinite(column).any():
            columns[name] = _dates([line.split(separator)[header.index(name)] for line in whole])
    notes = [f'lines that are not whole are skipped: {broken}'] if broken else []
    return columns, notes


def _dates(texts: list[str]) -> Array:
    """Converts dates and times to seconds; NaN if the texts are none."""
    try:
        dates = np.array([text.strip().strip('"').rstrip('Z') for text in texts], 'datetime64[ns]')
    except ValueError:
        return np.full(len(texts), np.nan)
    return _seconds(dates)


def _seconds(dates: NDArray[np.datetime64]) -> Array:
    whole = dates.astype('datetime64[ns]').astype(np.int64).astype(np.float64)
    return np.asarray(1e-9 * whole)


def read_parquet(path: Path) -> tuple[dict[str, Array], list[str]]:
    """Reads columns by name; a column of lists gives one per element, such as ``effort[0]``.

    Raises:
        OSError, ValueError: the file cannot be read.
        UnusableRecordingError: pyarrow is missing.
    """
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise UnusableRecordingError(
            f'{path}: Parquet files need the Python package pyarrow (pip install pyarrow)'
        ) from error
    try:
        file = ParquetFile(path)
        # A few bytes may stand for any number of equal values.
        numbers = file.metadata.num_rows * file.metadata.num_columns
        if numbers > MAXIMUM_NUMBERS:
            raise ValueError(f'{numbers} numbers, more than {MAXIMUM_NUMBERS} that are read')
        table = file.read()
    except ArrowInvalid as error:
        raise ValueError(str(error)) from error
    found: dict[str, Array] = {}
    for name in table.column_names:
        found |= _columns(name, table[name])
    return found, []


def _columns(name: str, column: Any) -> dict[str, Array]:
    """Returns columns of numbers or times, or of lists of equal length; empty for others."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_timestamp(kind):
        return {name: _seconds(column.to_numpy())}
    if pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind):
        return {name: np.asarray(column.to_numpy(), dtype=np.float64)}
    if pyarrow.types.is_list(kind) or pyarrow.types.is_fixed_size_list(kind):
        rows = column.to_pylist()
        lengths = {len(row) for row in rows if row is not None}
        if len(lengths) == 1 and isinstance(next((r[0] for r in rows if r), None), float):
            (count,) = lengths
            values = np.array([[np.nan] * count if row is None else row for row in rows], float)
            return {f'{name}[{k}]': values[:, k] for k in range(count)}
    return {}
