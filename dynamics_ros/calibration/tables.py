# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states from tables with named columns.

A column is named after a joint and what it holds, in either order: ``shoulder.position``,
``position_shoulder``, ``q_shoulder``, ``tau.shoulder``; or ``q1``, ``dq1``, ``tau1`` for joints
without names. Time is in ``time``, ``t``, ``stamp`` or ``timestamp`` [s], or with ``_ns`` in ns.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification import JointSamples, UnusableRecordingError

Array = NDArray[np.float64]

TABLES = ('.csv', '.parquet', '.pq')

TIMES = ('time', 't', 'stamp', 'timestamp', 'time_s')
WORDS = {
    'position': ('position', 'positions', 'pos', 'q'),
    'velocity': ('velocity', 'velocities', 'vel', 'qd', 'dq', 'v'),
    'effort': ('effort', 'efforts', 'torque', 'torques', 'tau', 'current'),
}


def write_table(path: Path, samples: JointSamples) -> None:
    """Write joint states as CSV, as ``read_table`` takes them.

    Raises:
        OSError: it cannot be written.
    """
    parts = {'position': samples.position, 'velocity': samples.velocity, 'effort': samples.effort}
    known = {word: values for word, values in parts.items() if values is not None}
    header = ['time', *(f'{name}.{word}' for word in known for name in samples.joint_names)]
    rows = np.column_stack([samples.time, *known.values()])
    lines = [','.join(f'{x:.9g}' for x in row) for row in rows]
    path.write_text('\n'.join([','.join(header), *lines]) + '\n')


def read_table(path: Path) -> JointSamples:
    """The joint states of a CSV or Parquet file.

    Raises:
        UnusableRecordingError: it cannot be read, or columns are missing; says which are there.
    """
    try:
        columns = _csv(path) if path.suffix.lower() == '.csv' else _parquet(path)
    except (OSError, ValueError) as error:
        raise UnusableRecordingError(f'{path}: cannot be read: {error}') from error
    time = _time(path, columns)
    found: dict[str, dict[str, Array]] = {kind: {} for kind in WORDS}
    for name, values in columns.items():
        kind, joint = _meaning(name)
        if kind:
            found[kind][joint] = values
    joints = tuple(found['position'])
    if not joints:
        raise UnusableRecordingError(
            f'{path}: no columns of positions among {", ".join(columns)}; name them such as '
            'shoulder.position, shoulder.velocity, shoulder.effort'
        )
    missing = [joint for joint in joints if joint not in found['effort']]
    if missing:
        raise UnusableRecordingError(
            f'{path}: holds no efforts of {", ".join(missing)}; name the columns such as '
            f'{missing[0]}.effort'
        )
    complete = all(joint in found['velocity'] for joint in joints)
    return JointSamples(
        path.name,
        joints,
        time,
        np.stack([found['position'][joint] for joint in joints], axis=1),
        np.stack([found['velocity'][joint] for joint in joints], axis=1) if complete else None,
        np.stack([found['effort'][joint] for joint in joints], axis=1),
    )


def _meaning(column: str) -> tuple[str, str]:
    """What a column holds, and of which joint; '' where it holds something else."""
    lowered = column.strip().lower()
    for kind, words in WORDS.items():
        for word in words:
            if match := re.fullmatch(rf'(.+?)[./_\- ]{word}', lowered):
                return kind, column.strip()[: match.end(1)]
            if match := re.fullmatch(rf'{word}(?:[./_\- ]|(?=[\[(\d]))(.+)', lowered):
                return kind, column.strip()[match.start(1) :].strip('[]()')
    return '', ''


def _time(path: Path, columns: dict[str, Array]) -> Array:
    for name, values in columns.items():
        lowered = name.strip().lower()
        if lowered in TIMES:
            return values
        if lowered.endswith('_ns') and lowered.removesuffix('_ns') in TIMES:
            return values * 1e-9
    raise UnusableRecordingError(
        f'{path}: no column of time among {", ".join(columns)}; name it "time" [s] or "time_ns"'
    )


def _csv(path: Path) -> dict[str, Array]:
    with path.open(newline='') as file:
        header = next(csv.reader(file), [])
    if not header:
        raise ValueError('it is empty')
    values = np.genfromtxt(path, delimiter=',', skip_header=1, ndmin=2)
    if values.shape[1] != len(header):
        raise ValueError(f'{len(header)} names but {values.shape[1]} columns')
    return dict(zip(header, values.T, strict=True))


def _parquet(path: Path) -> dict[str, Array]:
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import read_table as read
    except ImportError as error:
        raise UnusableRecordingError(
            f'{path}: Parquet files need the Python package pyarrow (pip install pyarrow)'
        ) from error
    try:
        table = read(path)
    except ArrowInvalid as error:
        raise ValueError(str(error)) from error
    return {
        name: np.asarray(table[name].to_numpy(), dtype=np.float64)
        for name in table.column_names
        if table[name].type in _numbers()
    }


def _numbers() -> tuple:
    import pyarrow

    return (
        *(pyarrow.float64(), pyarrow.float32(), pyarrow.int64(), pyarrow.int32()),
        *(pyarrow.uint64(), pyarrow.uint32()),
    )
