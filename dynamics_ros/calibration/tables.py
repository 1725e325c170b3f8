# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of joint states in tables with named columns.

A column is named after a joint and a quantity, in either order: ``shoulder.position``,
``position_shoulder``, ``q_shoulder``, ``tau.shoulder``; or ``q1``, ``dq1``, ``tau1`` for joints
without names. A common prefix of all columns, such as a topic name, and units after a name, such as
``[rad]``, are ignored. Time is in ``time``, ``t``, ``stamp`` or ``timestamp`` [s], with ``_ms``,
``_us`` or ``_ns`` in these units, or in two columns ``sec`` and ``nanosec``.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification import JointSamples, UnusableRecordingError
from dynamics_ros.identification.joint_states.joint_matching import common_prefix

Array = NDArray[np.float64]

TABLES = ('.csv', '.parquet', '.pq')

SEPARATORS = (',', ';', '\t')

MAXIMUM_NUMBERS = 500_000_000
"""Limit of the numbers in a Parquet file; seven joints at 1 kHz fill it in six hours."""

MAX_BROKEN = 0.1
"""Maximum share of lines with a wrong number of columns."""

EXPECTED = 'name them such as time, shoulder.position, shoulder.velocity, shoulder.effort'

TIMES = (
    *('time', 't', 'stamp', 'timestamp', 'header.stamp', 'header_stamp', 'rosbagtimestamp'),
    *('seconds', 'secs', 'sec'),
)
UNITS = {'s': 1.0, 'sec': 1.0, 'secs': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9}
SECONDS = ('sec', 'secs', 'stamp.sec', 'stamp.secs', 'header.stamp.sec', 'header.stamp.secs')
NANOSECONDS = {'sec': 'nanosec', 'secs': 'nsecs'}

WORDS = {
    'position': (
        *('position', 'positions', 'joint_position', 'actual_position', 'pos', 'angle'),
        *('actual_q', 'q_actual', 'q'),
    ),
    'velocity': (
        *('velocity', 'velocities', 'joint_velocity', 'actual_velocity', 'vel', 'speed'),
        *('actual_qd', 'qd', 'dq', 'v'),
    ),
    'effort': (
        *('effort', 'efforts', 'joint_effort', 'joint_torque', 'motor_torque', 'measured_torque'),
        *('actual_current', 'motor_current', 'torque', 'torques', 'tau_j', 'tau', 'current'),
    ),
}


def read_table(path: Path) -> JointSamples:
    """Reads the joint states of a CSV or Parquet file.

    Raises:
        UnusableRecordingError: the file cannot be read, or columns are missing; lists the columns.
    """
    try:
        columns, note = _read_csv(path) if path.suffix.lower() == '.csv' else _read_parquet(path)
        if not columns:
            raise ValueError(f'no columns of numbers; {EXPECTED}')
        time, used = _time(columns)
        others = {name: values for name, values in columns.items() if name not in used}
        joints, found = _quantities(others)
    except (OSError, ValueError) as error:
        cure = '; save it as text in UTF-8' if isinstance(error, UnicodeDecodeError) else ''
        raise UnusableRecordingError(f'{path}: cannot be read: {error}{cure}') from error
    notes = (f'{path.name}: {note}',) if note else ()
    velocity = found.get('velocity')
    return JointSamples(
        path.name, joints, time, found['position'], velocity, found['effort'], notes
    )


def _read_csv(path: Path) -> tuple[dict[str, Array], str]:
    """Reads columns separated by commas, semicolons or tabs, by name; returns also a note or ''.

    Raises:
        OSError, ValueError: the file cannot be read.
    """
    lines = [line for line in path.read_text(encoding='utf-8-sig').splitlines() if line.strip()]
    # Comments may precede the line of names, which may itself begin with '#'.
    while len(lines) > 1 and lines[0].startswith('#') and lines[1].startswith('#'):
        del lines[0]
    if lines and lines[0].startswith('#'):
        widths = [max(map(line.count, SEPARATORS)) for line in lines[:2]]
        lines[0] = lines[0].lstrip('#')
        lines = lines if widths[0] == widths[-1] else lines[1:]
    if len(lines) < 2:
        raise ValueError('it holds names of columns, and no rows' if lines else 'it is empty')
    separator = max(SEPARATORS, key=lines[0].count)
    header = [name.strip().strip('"\'') for name in lines[0].split(separator)]
    for name in header:
        if name and header.count(name) > 1:
            raise ValueError(f'two columns are named {name!r}')
    whole = [line for line in lines[1:] if line.count(separator) == len(header) - 1]
    broken = len(lines) - 1 - len(whole)
    if broken > MAX_BROKEN * len(lines) + 1:
        raise ValueError(
            f'{broken} of {len(lines) - 1} lines have another number of columns than the '
            f'{len(header)} names'
        )
    try:
        values = np.loadtxt(whole, delimiter=separator, ndmin=2)
    except ValueError:  # columns of text, or empty cells
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            values = np.genfromtxt(whole, delimiter=separator, ndmin=2)
    columns = {name: column for name, column in zip(header, values.T, strict=True) if name}
    return columns, f'lines that are not whole are skipped: {broken}' if broken else ''


def _read_parquet(path: Path) -> tuple[dict[str, Array], str]:
    """Reads columns by name; a column of lists gives one per element, such as ``effort[0]``.

    Raises:
        OSError, ValueError: the file cannot be read, or pyarrow is missing.
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ValueError('it needs the Python package pyarrow (pip install pyarrow)') from error
    file = ParquetFile(path)
    # A few bytes may stand for any number of equal values.
    numbers = file.metadata.num_rows * file.metadata.num_columns
    if numbers > MAXIMUM_NUMBERS:
        raise ValueError(f'{numbers} numbers, more than {MAXIMUM_NUMBERS} that are read')
    table, kinds = file.read(), pyarrow.types
    columns: dict[str, Array] = {}
    for name in table.column_names:
        column: Any = table[name]
        kind = column.type
        if kinds.is_timestamp(kind):
            stamps = column.to_numpy().astype('datetime64[ns]').astype(np.int64)
            columns[name] = 1e-9 * stamps.astype(np.float64)
        elif kinds.is_floating(kind) or kinds.is_integer(kind):
            columns[name] = np.asarray(column.to_numpy(), dtype=np.float64)
        elif kinds.is_list(kind) or kinds.is_fixed_size_list(kind):
            rows = column.to_pylist()
            lengths = {len(row) for row in rows if row is not None}
            if len(lengths) == 1 and isinstance(next((r[0] for r in rows if r), None), float):
                (count,) = lengths
                values = np.array([[np.nan] * count if row is None else row for row in rows], float)
                columns |= {f'{name}[{k}]': values[:, k] for k in range(count)}
    return columns, ''


def _quantities(columns: dict[str, Array]) -> tuple[tuple[str, ...], dict[str, Array]]:
    """Returns the joints, and quantities (n, joints); a quantity that a joint lacks is left out.

    Raises:
        ValueError: positions or efforts are missing, or two columns have the same meaning.
    """
    found: dict[str, dict[str, Array]] = {kind: {} for kind in WORDS}
    # Names may begin with a topic or table name.
    common = common_prefix(list(columns) or [''])
    begin = max(common.rfind('/'), common.rfind('.')) + 1
    read = [{name: _meaning(name[k:]) for name in columns} for k in (0, begin)]
    for name, (kind, joint) in max(read, key=lambda one: len({k for k, _ in one.values()})).items():
        if not kind:
            continue
        if joint in found[kind]:
            raise ValueError(f'two columns hold the {kind} of {joint}')
        found[kind][joint] = columns[name]
    joints = tuple(found['position'])
    if not joints:
        raise ValueError(f'no columns of positions among {_listed(columns)}; {EXPECTED}')
    missing = [joint for joint in joints if joint not in found['effort']]
    if missing:
        raise ValueError(
            f'holds no efforts of {", ".join(missing)} among {_listed(columns)}; name the columns '
            f'such as {missing[0]}.effort'
        )
    return joints, {
        kind: np.stack([values[joint] for joint in joints], axis=1)
        for kind, values in found.items()
        if set(joints) <= values.keys()
    }


def _meaning(column: str) -> tuple[str, str]:
    """Returns quantity and joint of a column; '' for both if it contains something else."""
    bare = re.sub(r'\s*[\[(][A-Za-z][A-Za-z/^*0-9 .]*[\])]$', '', column.strip())
    lowered = bare.lower()
    words = [(word, kind) for kind, several in WORDS.items() for word in several]
    # Longest word first: motor_torque_x is the effort of joint x, not a torque of joint motor.
    for word, kind in sorted(words, key=lambda one: -len(one[0])):
        if match := re.fullmatch(rf'(.+?)[./_\- ]{word}', lowered):
            return kind, bare[: match.end(1)]
        if match := re.fullmatch(rf'{word}(?:[./_\- ]|(?=[\[(\d]))(.+)', lowered):
            return kind, bare[match.start(1) :].strip('[]()')
    return '', ''


def _time(columns: dict[str, Array]) -> tuple[Array, list[str]]:
    """Returns stamps [s] and the names of their columns.

    Raises:
        ValueError: there is no column of time.
    """
    # In lower case, with a bracketed unit as suffix and no prefix.
    bare = {
        re.sub(r'\s*[\[(](n?s|ms|us|sec)[\])]$', r'_\1', name.strip().lower()).lstrip('%_/.'): name
        for name in columns
    }
    for seconds in SECONDS:
        rest = re.sub('secs?$', lambda word: NANOSECONDS[word[0]], seconds)
        if seconds in bare and rest in bare:
            both = [bare[seconds], bare[rest]]
            return columns[both[0]] + 1e-9 * columns[both[1]], both
    for plain, name in bare.items():
        stem, _, unit = plain.rpartition('_')
        if plain in TIMES or (stem in TIMES and unit in UNITS):
            stamps = columns[name] * UNITS.get(unit if stem in TIMES else 's', 1.0)
            if len(stamps) and not np.isfinite(stamps).any():
                raise ValueError(f'the column {name!r} holds no numbers; seconds are expected')
            return stamps, [name]
    if all(re.fullmatch(r'[-+.\deE]+', name) for name in columns):
        raise ValueError(f'its first line holds numbers, no names of columns; {EXPECTED}')
    raise ValueError(f'no column of time among {_listed(columns)}; name it "time" [s] or "time_ns"')


def _listed(columns: dict[str, Array]) -> str:
    names = list(columns)
    more = f' and {len(names) - 12} more' if len(names) > 12 else ''
    return ', '.join(names[:12]) + more
