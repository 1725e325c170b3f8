# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader and writer of joint states in tables with named columns.

A column is named after a joint and a quantity, in either order: ``shoulder.position``,
``position_shoulder``, ``q_shoulder``, ``tau.shoulder``; or ``q1``, ``dq1``, ``tau1`` for joints
without names. A common prefix of all columns, such as a topic name, and units after a name, such as
``[rad]``, are ignored. Time is in ``time``, ``t``, ``stamp`` or ``timestamp`` [s], with ``_ms``,
``_us`` or ``_ns`` in these units, or in two columns ``sec`` and ``nanosec``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.files import write_files
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

MIN_INTERVAL, MAX_INTERVAL = 1e-4, 1.0
"""Range of plausible sample intervals [s]; otherwise the stamps are in another unit of time."""

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


def write_table(path: Path, samples: JointSamples) -> None:
    """Writes joint states as CSV in the format of ``read_table``.

    Raises:
        NotWrittenError: the file cannot be written.
    """
    parts = {'position': samples.position, 'velocity': samples.velocity, 'effort': samples.effort}
    known = {word: values for word, values in parts.items() if values is not None}
    write_files({path: csv_text(samples.joint_names, samples.time, known)})


def csv_text(joint_names: Sequence[str], time: Array, columns: dict[str, Array]) -> str:
    """Returns CSV rows of the time and of quantities (n, joints) by name, with their names."""
    header = ['time', *(f'{name}.{word}' for word in columns for name in joint_names)]
    rows = np.column_stack([time, *columns.values()])
    lines = [','.join(f'{x:.9g}' for x in row) for row in rows]
    return '\n'.join([','.join(header), *lines]) + '\n'


def read_table(path: Path) -> JointSamples:
    """Reads the joint states of a CSV or Parquet file.

    Raises:
        UnusableRecordingError: the file cannot be read, or columns are missing; lists the columns.
    """
    try:
        columns, notes = _read_csv(path) if path.suffix.lower() == '.csv' else _read_parquet(path)
        if not columns:
            raise ValueError(f'no columns of numbers; {EXPECTED}')
        time, used, note = _time(columns)
        others = {name: values for name, values in columns.items() if name not in used}
        joints, found = _quantities(others)
    except (OSError, ValueError) as error:
        cure = '; save it as text in UTF-8' if isinstance(error, UnicodeDecodeError) else ''
        raise UnusableRecordingError(f'{path}: cannot be read: {error}{cure}') from error
    return JointSamples(
        path.name,
        joints,
        time,
        found['position'],
        found.get('velocity'),
        found['effort'],
        tuple(f'{path.name}: {text}' for text in (*notes, note) if text),
    )


def _read_csv(path: Path) -> tuple[dict[str, Array], list[str]]:
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
    if len(lines) < 2:
        raise ValueError('it holds names of columns, and no rows' if lines else 'it is empty')
    header = [name.strip().strip('"\'') for name in lines[0].split(separator)]
    for name in header:
        if name and header.count(name) > 1:
            raise ValueError(f'two columns are named {name!r}')
    commas = separator == ';' and '.' not in ''.join(lines[1:20])
    whole = [line for line in lines[1:] if line.count(separator) == len(header) - 1]
    broken = len(lines) - 1 - len(whole)
    if broken > MAX_BROKEN * len(lines) + 1:
        raise ValueError(
            f'{broken} of {len(lines) - 1} lines have another number of columns than the '
            f'{len(header)} names'
        )
    texts = [line.replace(',', '.') for line in whole] if commas else whole
    try:
        values = np.loadtxt(texts, delimiter=separator, ndmin=2)
    except ValueError:  # columns of text, or empty cells
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            values = np.genfromtxt(texts, delimiter=separator, ndmin=2)
    columns: dict[str, Array] = {}
    for k, (name, column) in enumerate(zip(header, values.T, strict=True)):
        if name:
            number = np.isfinite(column).any()
            columns[name] = column if number else _dates([x.split(separator)[k] for x in whole])
    return columns, [f'lines that are not whole are skipped: {broken}'] if broken else []


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


def _read_parquet(path: Path) -> tuple[dict[str, Array], list[str]]:
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
            columns[name] = _seconds(column.to_numpy())
        elif kinds.is_floating(kind) or kinds.is_integer(kind):
            columns[name] = np.asarray(column.to_numpy(), dtype=np.float64)
        elif kinds.is_list(kind) or kinds.is_fixed_size_list(kind):
            rows = column.to_pylist()
            lengths = {len(row) for row in rows if row is not None}
            if len(lengths) == 1 and isinstance(next((r[0] for r in rows if r), None), float):
                (count,) = lengths
                values = np.array([[np.nan] * count if row is None else row for row in rows], float)
                columns |= {f'{name}[{k}]': values[:, k] for k in range(count)}
    return columns, []


def _quantities(columns: dict[str, Array]) -> tuple[tuple[str, ...], dict[str, Array]]:
    """Returns the joints, and quantities (n, joints); a quantity that a joint lacks is left out.

    Raises:
        ValueError: positions or efforts are missing, or two columns have the same meaning.
    """
    found: dict[str, dict[str, Array]] = {kind: {} for kind in WORDS}
    for name, (kind, joint) in _meanings(list(columns)).items():
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


def _meanings(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Returns quantity and joint of the columns that contain joint states."""
    whole = {name: _meaning(name) for name in names}
    # Names may begin with a topic or table name.
    common = common_prefix(names or [''])
    begin = max(common.rfind('/'), common.rfind('.')) + 1
    short = {name: _meaning(name[begin:]) for name in names}
    chosen = max((whole, short), key=lambda one: len({kind for kind, _ in one.values()} - {''}))
    return {name: meaning for name, meaning in chosen.items() if meaning[0]}


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


def _time(columns: dict[str, Array]) -> tuple[Array, list[str], str]:
    """Returns stamps [s], the names of their columns, and a note if the unit is assumed, or ''.

    Raises:
        ValueError: there is no column of time.
    """
    bare = {_normalized(name): name for name in columns}
    for seconds in SECONDS:
        begin, _, word = seconds.rpartition('.')
        rest = '.'.join(part for part in (begin, NANOSECONDS[word]) if part)
        if seconds in bare and rest in bare:
            both = [bare[seconds], bare[rest]]
            return columns[both[0]] + 1e-9 * columns[both[1]], both, ''
    for plain, name in bare.items():
        stem, _, unit = plain.rpartition('_')
        if stem in TIMES and unit in UNITS:
            return columns[name] * UNITS[unit], [name], ''
    for name in (name for plain, name in bare.items() if plain in TIMES):
        stamps = columns[name]
        if len(stamps) and not np.isfinite(stamps).any():
            raise ValueError(f'the column {name!r} holds no numbers; seconds are expected')
        steps = np.diff(stamps[np.isfinite(stamps)])
        step = float(np.median(steps[steps > 0.0])) if (steps > 0.0).any() else 0.0
        for unit in ('s', 'ms', 'us', 'ns'):
            if MIN_INTERVAL <= step * UNITS[unit] <= MAX_INTERVAL:
                note = f'stamps seem to be in {unit}' if unit != 's' else ''
                return stamps * UNITS[unit], [name], note
        return stamps, [name], ''
    if all(re.fullmatch(r'[-+.\deE]+', name) for name in columns):
        raise ValueError(f'its first line holds numbers, no names of columns; {EXPECTED}')
    raise ValueError(f'no column of time among {_listed(columns)}; name it "time" [s] or "time_ns"')


def _normalized(name: str) -> str:
    """Returns a column name in lower case, with a bracketed unit as suffix and no prefix."""
    return re.sub(r'\s*[\[(](n?s|ms|us|sec)[\])]$', r'_\1', name.strip().lower()).lstrip('%_/.')


def _listed(columns: dict[str, Array]) -> str:
    names = list(columns)
    more = f' and {len(names) - 12} more' if len(names) > 12 else ''
    return ', '.join(names[:12]) + more
