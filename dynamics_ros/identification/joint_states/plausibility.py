# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors in recordings: jumps by full turns, inconsistent velocities, clipped efforts.

A model with free masses and friction fits such recordings too, with wrong parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.robot import Robot

from .clock import Stretch
from .samples import JointSamples

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

MIN_CLIPPED_SHARE, MIN_CLIPPED_SAMPLES, MIN_FREQUENCY_RATIO = 0.02, 5, 3.0
"""Clipping: least share of the efforts in motion at the extreme value, least number of consecutive
samples, least ratio of its frequency to that of the next value; coarse efforts have the first
two."""

MIN_LEVELS = 30.0
"""Least number of effort steps in the range of efforts; coarser efforts are not checked for
clipping."""

MAX_CLIPPED_SHARE = 0.1
"""Largest share of motion with clipped efforts that can be excluded; filters exclude more."""

MAX_EFFORT_RATIO = 2.0
"""Ratio to the effort limit that no motor can exceed."""


class NotThisRobotError(DynamicsRosError):
    """The robot does not explain a recording with any masses."""


def without_turns(position: Array, angles: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_]]:
    """Positions (n, joints) without jumps by full turns, and (joints) whether there were any.

    Args:
        position: positions in the order of time.
        angles: (joints) whether a joint is revolute.
    """
    steps = np.diff(position, axis=0, prepend=position[:1])
    turns = np.round(steps / TURN)
    turns = np.where((np.abs(steps - TURN * turns) < TURN_TOLERANCE) & angles, turns, 0.0)
    turned: NDArray[np.bool_] = (turns != 0.0).any(axis=0)
    return position - TURN * np.cumsum(turns, axis=0), turned


def odd_velocities(samples: JointSamples, scales: Array) -> str:
    """Joints whose velocities are not the derivative of their positions, as text; '' if none.

    Args:
        samples: a recording.
        scales: ``motion_scales`` of its joints.
    """
    if samples.velocity is None or samples.duration < 2.0 * WINDOW:
        return ''
    time, count = samples.time, len(samples)
    first = np.unique(np.linspace(0, count - 2, WINDOWS).astype(int))
    last = np.searchsorted(time, time[first] + WINDOW)
    whole = (last < count) & (last > first + 1)
    first, last = first[whole], last[whole]
    spans = time[last] - time[first]
    near = spans < 2.0 * WINDOW
    first, last, spans = first[near], last[near], spans[near, np.newaxis]
    if not len(first):
        return ''
    change = (samples.position[last] - samples.position[first]) / spans
    sums = np.concatenate([np.zeros((1, change.shape[1])), np.cumsum(samples.velocity, axis=0)])
    reported = (sums[last + 1] - sums[first]) / (last + 1 - first)[:, np.newaxis]
    odd, slopes = [], []
    columns = zip(samples.joint_names, change.T, reported.T, scales, strict=True)
    for name, true, given, scale in columns:
        power = float(true @ true)
        if power < len(true) * (SLOW * scale) ** 2:
            continue
        slope = float(true @ given) / power
        slopes.append(slope)
        if not 1.0 / MAX_RATIO < slope < MAX_RATIO:
            odd.append(f'{name} {slope:.3g}')
    if len(odd) > 1 and max(slopes) - min(slopes) < COMMON_DIFFERENCE * abs(slopes[0]):
        one = f'all joints {np.mean(slopes):.3g}'
        return f'{one}, as where stamps are on another scale, or angles or velocities in degrees'
    return ', '.join(odd)


def cut_off_at(stretches: Sequence[Stretch], scales: Array) -> tuple[Array, Array]:
    """Efforts at which a driver clips them.

    Args:
        stretches: recordings of a robot.
        scales: its ``motion_scales``.

    Returns:
        (2, nv) lowest and highest reported efforts to exclude, infinite if there is no clipping or
        too much; (nv) share of the motion with clipped efforts.
    """
    count = stretches[0].effort.shape[1]
    edges, shares = np.array([[-np.inf], [np.inf]]) * np.ones(count), np.zeros(count)
    for j in range(count):
        effort = np.concatenate([one.effort[:, j] for one in stretches])
        moves = np.concatenate([_is_moving(one, j, SLOW * scales[j]) for one in stretches])
        lowest, highest = effort.min(), effort.max()
        found = [_clipped_share(effort, moves, edge) for edge in (lowest, highest)]
        steps = np.diff(np.unique(effort))
        coarse = len(steps) and highest - lowest < MIN_LEVELS * steps.min()
        if sum(found) > MIN_CLIPPED_SHARE and highest > lowest and not coarse:
            shares[j] = sum(found)
            if shares[j] <= MAX_CLIPPED_SHARE:
                edges[:, j] = np.where(np.array(found) > 0.0, (lowest, highest), edges[:, j])
    return edges, shares


def doubtful_efforts(
    robot: Robot, stretches: Sequence[Stretch], scale: Array, cut_off: Array
) -> list[str]:
    """Sentences on efforts that are clipped, or that exceed the motors of the robot.

    Args:
        robot: the robot.
        stretches: its recordings.
        scale: (nv) torque per unit of reported effort.
        cut_off: (nv) share of the motion with clipped efforts.
    """
    found, beyond = [], []
    for j, name in enumerate(robot.joint_names):
        effort = np.concatenate([one.effort[:, j] for one in stretches])
        limit, largest = robot.effort_limits[j], abs(scale[j]) * np.quantile(np.abs(effort), 0.99)
        if 0.0 < limit < np.inf and largest > MAX_EFFORT_RATIO * limit:
            beyond.append(f'{name} {largest:.3g} where the limit is {limit:.3g}')
    shares = dict(zip(robot.joint_names, cut_off, strict=True))
    few = [f'{n} {100.0 * x:.0f} %' for n, x in shares.items() if 0.0 < x <= MAX_CLIPPED_SHARE]
    many = [f'{n} {100.0 * x:.0f} %' for n, x in shares.items() if x > MAX_CLIPPED_SHARE]
    words = 'efforts are cut off at their largest value for part of the motion'
    if few:
        found.append(f'{words} ({", ".join(few)}): these times are left out')
    if many:
        found.append(
            f'{words} ({", ".join(many)}): what is found of these joints and of what they carry is '
            'wrong; record slower motion'
        )
    if beyond:
        found.append(
            f'efforts are larger than the robot can give ({", ".join(beyond)}): they are in other '
            'units there, or the description has other limits'
        )
    return found


def _is_moving(stretch: Stretch, joint: int, least: float) -> NDArray[np.bool_]:
    """(n) whether a joint is faster than a speed, by its mean speed over the next 50 ms."""
    q = stretch.position[:, joint]
    ahead = max(1, min(round(0.05 / stretch.period), len(q) - 1))
    speed = np.abs(q[ahead:] - q[:-ahead]) / (ahead * stretch.period)
    found: NDArray[np.bool_] = np.pad(speed, (0, ahead), mode='edge') > least
    return found


def _clipped_share(effort: Array, moves: NDArray[np.bool_], edge: float) -> float:
    """Share of a joint's efforts in motion that are clipped at an extreme value."""
    far = np.abs(effort - edge)
    close = 1e-9 * max(abs(edge), 1.0)
    same = moves & (far <= close)
    next_value = far[far > close].min(initial=np.inf)
    if same.sum() < MIN_FREQUENCY_RATIO * np.count_nonzero(
        moves & (np.abs(far - next_value) <= close)
    ):
        return 0.0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(int)))
    lengths = edges[1::2] - edges[::2]
    return float(lengths[lengths >= MIN_CLIPPED_SAMPLES].sum() / max(moves.sum(), 1))
