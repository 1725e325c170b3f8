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
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.files import write_files
from dynamics_ros.identification import JointSamples, UnusableRecordingError

from .rows import read_csv, read_parquet

Array = NDArray[np.float64]

TABLES = ('.csv', '.parquet', '.pq')

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
    header = ['time', *(f'{name}.{word}' for word in known for name in samples.joint_names)]
    rows = np.column_stack([samples.time, *known.values()])
    lines = [','.join(f'{x:.9g}' for x in row) for row in rows]
    write_files({path: '\n'.join([','.join(header), *lines]) + '\n'})


def read_table(path: Path) -> JointSamples:
    """Reads the joint states of a CSV or Parquet file.

    Raises:
        UnusableRecordingError: the file cannot be read, or columns are missing; lists the columns.
    """
    try:
        columns, notes = read_csv(path) if path.suffix.lower() == '.csv' else read_parquet(path)
    except UnicodeDecodeError as error:
        raise UnusableRecordingError(
            f'{path}: cannot be read: {error}; save it as text in UTF-8'
        ) from error
    except (OSError, ValueError) as error:
        raise UnusableRecordingError(f'{path}: cannot be read: {error}') from error
    if not columns:
        raise UnusableRecordingError(
            f'{path}: has no columns of numbers; name them such as time, shoulder.position, '
            'shoulder.velocity, shoulder.effort'
        )
    time, used, note = _time(path, columns)
    notes += [note] if note else []
    found: dict[str, dict[str, Array]] = {kind: {} for kind in WORDS}
    others = {name: values for name, values in columns.items() if name not in used}
    for name, (kind, joint) in _meanings(list(others)).items():
        if joint in found[kind]:
            raise UnusableRecordingError(f'{path}: two columns hold the {kind} of {joint}')
        found[kind][joint] = others[name]
    joints = tuple(found['position'])
    if not joints:
        raise UnusableRecordingError(
            f'{path}: no columns of positions among {_listed(columns)}; name them such as '
            'shoulder.position, shoulder.velocity, shoulder.effort'
        )
    missing = [joint for joint in joints if joint not in found['effort']]
    if missing:
        raise UnusableRecordingError(
            f'{path}: holds no efforts of {", ".join(missing)} among {_listed(columns)}; name the '
            f'columns such as {missing[0]}.effort'
        )
    complete = all(joint in found['velocity'] for joint in joints)
    return JointSamples(
        path.name,
        joints,
        time,
        np.stack([found['position'][joint] for joint in joints], axis=1),
        np.stack([found['velocity'][joint] for joint in joints], axis=1) if complete else None,
        np.stack([found['effort'][joint] for joint in joints], axis=1),
        tuple(f'{path.name}: {note}' for note in notes),
    )


def _meanings(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Returns quantity and joint of the columns that contain joint states."""
    whole = {name: _meaning(name) for name in names}
    # Names may begin with a topic or table name.
    begin = len(_common_prefix(names))
    short = {name: _meaning(name[begin:]) for name in names}
    chosen = max((whole, short), key=lambda one: len({kind for kind, _ in one.values()} - {''}))
    return {name: meaning for name, meaning in chosen.items() if meaning[0]}


def _common_prefix(names: Sequence[str]) -> str:
    """Returns the common prefix of all names, up to a dot or slash."""
    begin = ''
    for letters in zip(*names, strict=False):
        if len(set(letters)) > 1:
            break
        begin += letters[0]
    return begin[: max(begin.rfind('/'), begin.rfind('.')) + 1]


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


def _time(path: Path, columns: dict[str, Array]) -> tuple[Array, list[str], str]:
    """Returns stamps [s], the names of their columns, and a note if the unit is assumed, or ''."""
    bare = {_normalized(name): name for name in columns}
    for seconds in SECONDS:
        begin, _, word = seconds.rpartition('.')
        rest = '.'.join(part for part in (begin, NANOSECONDS[word]) if part)
        if seconds in bare and rest in bare:
            both = [bare[seconds], bare[rest]]
            return columns[both[0]] + 1e-9 * columns[both[1]], both, ''
    for plain, name in bare.items():
        for unit, factor in UNITS.items():
            if plain.endswith(f'_{unit}') and plain.removesuffix(f'_{unit}') in TIMES:
                return columns[name] * factor, [name], ''
    for plain, name in bare.items():
        if plain in TIMES:
            values = columns[name]
            if len(values) and not np.isfinite(values).any():
                raise UnusableRecordingError(
                    f'{path}: the column {name!r} holds no numbers; seconds are expected'
                )
            factor = _unit(values)
            note = f'stamps seem to be in {_unit_name(factor)}' if factor != 1.0 else ''
            return values * factor, [name], note
    if all(_is_number(name) for name in columns):
        raise UnusableRecordingError(
            f'{path}: its first line holds numbers, no names of columns; name them such as time, '
            'shoulder.position, shoulder.velocity, shoulder.effort'
        )
    raise UnusableRecordingError(
        f'{path}: no column of time among {_listed(columns)}; name it "time" [s] or "time_ns"'
    )


def _normalized(name: str) -> str:
    """Returns a column name in lower case, with a bracketed unit as suffix and no prefix."""
    return re.sub(r'\s*[\[(](n?s|ms|us|sec)[\])]$', r'_\1', name.strip().lower()).lstrip('%_/.')


def _unit(stamps: Array) -> float:
    """Returns the presumed unit of stamps in seconds, from their median step."""
    steps = np.diff(stamps[np.isfinite(stamps)])
    steps = steps[steps > 0.0]
    step = float(np.median(steps)) if len(steps) else 0.0
    for factor in (1.0, 1e-3, 1e-6, 1e-9):
        if MIN_INTERVAL <= step * factor <= MAX_INTERVAL:
            return factor
    return 1.0


def _unit_name(factor: float) -> str:
    return {1e-3: 'milliseconds', 1e-6: 'microseconds', 1e-9: 'nanoseconds'}[factor]


def _listed(columns: dict[str, Array]) -> str:
    names = list(columns)
    more = f' and {len(names) - 12} more' if len(names) > 12 else ''
    return ', '.join(names[:12]) + more


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
