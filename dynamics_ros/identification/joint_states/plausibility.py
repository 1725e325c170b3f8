# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors in recordings: jumps by full turns and inconsistent velocities.

A model with free masses and friction fits such recordings too, with wrong parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError

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
