# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Assignment of recorded joints to the joints of a robot, also if names differ.

Jumps by full turns are removed, and velocities that are not the change of positions are dropped: a
model with free masses and friction fits such recordings too, with wrong parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.robot import Robot

from .samples import JointSamples, UnusableRecordingError

Array = NDArray[np.float64]

TURN = 2.0 * np.pi

TURN_TOLERANCE = 1.0
"""Tolerance for a position step of a full turn; joints move less between two samples [rad]."""

WINDOW, WINDOWS = 0.2, 400
"""Time over which velocities are compared with position changes [s]; largest number of times."""

SLOW = 0.02
"""Speed below which a joint is not used for these checks [rad/s], times ``motion_scales``."""

MAX_RATIO = 1.7
"""Largest ratio of velocity and position change, or its inverse, that counts as consistent."""

COMMON_DIFFERENCE = 0.1
"""Relative difference of the ratios of joints up to which they have one cause."""


class NotThisRobotError(DynamicsRosError):
    """The robot does not explain a recording with any masses."""


def named(robot: Robot, chosen: NDArray[np.bool_]) -> str:
    """Names of chosen joints (nv), as text."""
    return ', '.join(name for name, c in zip(robot.joint_names, chosen, strict=True) if c)


def odd_velocities(samples: JointSamples, scales: Array) -> str:
    """Joints whose velocities are not the derivative of their positions, as text; '' if none.

    Args:
        samples: a recording.
        scales: ``motion_scales`` of its joints.
    """
    if samples.velocity is None or samples.duration < 2.0 * WINDOW:
        return ''
    time, rows = samples.time, len(samples) - 1
    first = np.unique(np.linspace(0, rows - 1, WINDOWS).astype(int))
    last = np.searchsorted(time, time[first] + WINDOW)
    near = (last <= rows) & (last > first + 1)
    near &= time[np.minimum(last, rows)] - time[first] < 2.0 * WINDOW
    first, last = first[near], last[near]
    change = (samples.position[last] - samples.position[first]) / (time[last] - time[first])[
        :, None
    ]
    sums = np.cumsum(np.vstack([np.zeros(change.shape[1]), samples.velocity]), axis=0)
    reported = (sums[last + 1] - sums[first]) / (last + 1 - first)[:, np.newaxis]
    odd, slopes = [], []
    columns = zip(samples.joint_names, change.T, reported.T, scales, strict=True)
    for name, true, given, scale in columns:
        power = float(true @ true)
        if not power or power < len(true) * (SLOW * scale) ** 2:
            continue
        slope = float(true @ given) / power
        slopes.append(slope)
        if not 1.0 / MAX_RATIO < slope < MAX_RATIO:
            odd.append(f'{name} {slope:.3g}')
    if len(odd) > 1 and max(slopes) - min(slopes) < COMMON_DIFFERENCE * abs(slopes[0]):
        one = f'all joints {np.mean(slopes):.3g}'
        return f'{one}, as where stamps are on another scale, or angles or velocities in degrees'
    return ', '.join(odd)


def match_joints(
    recorded: Sequence[str], robot: Sequence[str], given: Mapping[str, str] | None = None
) -> tuple[dict[str, int], str]:
    """Column of each joint of the robot in a recording.

    Names are compared unchanged; then without punctuation, without the first word, and without
    common beginnings and ends (``fer_joint1`` is ``panda_joint1``). If none agrees and the numbers
    are equal, the order is used, because drivers list joints from the base on.

    Args:
        recorded: names in the recording, in the order of its columns.
        robot: names of the joints of the robot.
        given: recorded name to robot name, which takes precedence.

    Returns:
        Robot name to column, in the order of the robot, and a sentence on assumptions, or ''.

    Raises:
        UnusableRecordingError: the names do not match.
    """
    names = [dict(given or {}).get(name, name) for name in recorded]
    for name in dict(given or {}).values():
        if names.count(name) > 1:
            both = ' and '.join(one for one, n in zip(recorded, names, strict=True) if n == name)
            raise UnusableRecordingError(
                f'recorded joints {both} are both named {name}; give each its own name with '
                '--joints RECORDED=NAME ...'
            )
    found = {name: names.index(name) for name in robot if name in names}
    if found:
        return found, ''
    for shorten in (_plain, _without_first_word, _without_common):
        short, long = shorten(names), shorten(robot)
        alike = {name: short.index(word) for name, word in zip(robot, long) if word in short}
        if len(alike) == len(names) == len(set(short)):
            return (
                alike,
                f'recorded joints are taken for those of like names: {_pairs(names, alike)}',
            )
    if len(recorded) == len(robot):
        ordered = {name: column for column, name in enumerate(robot)}
        return (
            ordered,
            f'recorded joints are taken in the order of the robot: {_pairs(names, ordered)}',
        )
    raise UnusableRecordingError(
        f'the recording is of another robot: it has {", ".join(names)} ({len(names)}), the robot '
        f'{", ".join(robot)} ({len(robot)}); name them with --joints RECORDED=NAME ...'
    )


def standing_still(robot: Robot, absent: Sequence[str]) -> tuple[dict[str, float], str]:
    """Constant positions of joints that were not recorded [rad or m], and a sentence about them."""
    low = np.maximum(robot.lower_limits, -1e3)
    places = {}
    for name in absent:
        index = robot.joint_q_indices[name]
        places[name] = float(np.clip(0.0, low[index], robot.upper_limits[index]))
    texts = ', '.join(f'{name} at {place:g}' for name, place in places.items())
    return places, f'joints that were not recorded are taken to stand still: {texts}'


def _plain(names: Sequence[str]) -> list[str]:
    return [re.sub(r'[^a-z0-9]', '', name.lower()) for name in names]


def _without_first_word(names: Sequence[str]) -> list[str]:
    """Names without the part before the first underscore, such as the name of the arm."""
    return _plain([name.partition('_')[2] or name for name in names])


def _without_common(names: Sequence[str]) -> list[str]:
    """Names without their common beginning and end."""
    plain = _plain(names)
    if len(plain) < 2:
        return plain
    begin, end = (len(common_prefix(ones)) for ones in (plain, [name[::-1] for name in plain]))
    return [name[begin : len(name) - end] for name in plain]


def common_prefix(names: Sequence[str]) -> str:
    """Common beginning of all names."""
    first, last = min(names), max(names)
    while not last.startswith(first):
        first = first[:-1]
    return first


def _pairs(recorded: Sequence[str], columns: Mapping[str, int]) -> str:
    return ', '.join(f'{recorded[column]} is {name}' for name, column in columns.items())


def for_robot(
    samples: JointSamples, robot: Robot, given: Mapping[str, str] | None = None
) -> tuple[JointSamples, str]:
    """The samples of the robot's joints in its order, and a sentence on assumptions, or ''.

    Raises:
        UnusableRecordingError: a joint was not recorded, or positions are not in rad.
    """
    columns, assumed = match_joints(samples.joint_names, robot.joint_names, given)
    absent = [name for name in robot.joint_names if name not in columns]
    if absent:
        raise UnusableRecordingError(
            f'{samples.source}: {", ".join(absent)} was not recorded; lock what does not move '
            'with --lock NAME=POSITION'
        )
    scales = motion_scales(robot)
    chosen = samples.columns(list(columns.values()), robot.joint_names).cleaned(scales)
    farthest = np.abs(chosen.position).max(axis=0)
    limits = np.maximum(np.abs(robot.lower_limits), np.abs(robot.upper_limits))
    wide = farthest > 10.0 * np.where(np.isfinite(limits), limits, 10.0)
    if wide.any():
        raise UnusableRecordingError(
            f'{samples.source}: positions of {named(robot, wide)} reach {farthest.max():.4g}, far '
            'beyond the limits of the robot: they seem to be in degrees (--units degrees), or of '
            'another robot'
        )
    texts = [assumed] if assumed else []
    angles = np.array([joint.kind.units == ('rad',) for joint in robot.model.actuated])
    position = chosen.position.copy()
    position[:, angles] = np.unwrap(position[:, angles], TURN - TURN_TOLERANCE, axis=0)
    turned = np.any(np.abs(position - chosen.position) > TURN_TOLERANCE, axis=0)
    if turned.any():
        chosen = replace(chosen, position=position)
        names = named(robot, turned)
        texts.append(f'positions of {names} jump by whole turns, which are left out')
    odd = odd_velocities(chosen, scales)
    if odd:
        chosen = replace(chosen, velocity=None)
        texts.append(
            f'velocities are not the change of positions; they are so many times it: {odd}. They '
            'are left out here, but contact_node uses them: mend the driver first'
        )
    return chosen, '; '.join(texts)
