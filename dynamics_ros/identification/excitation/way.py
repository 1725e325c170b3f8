# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion of a robot to the start of a planned motion, and checks of motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.robot import Robot

from .clearance import Clearance
from .fourier import CLEARANCE

Array = NDArray[np.float64]

POINTS = 50
"""Number of points of the motion to the start."""

CHECKED_POSTURES = 200
"""Number of postures of a motion whose link distances are checked."""

MIN_DURATION = 2.0
"""Duration of the shortest motion to the start [s]."""

VELOCITY_SHARE = 0.1
"""Largest share of the velocity limits of the motion to the start."""

FASTER = 1.05
"""Velocity between two points, relative to the limit, that is attributed to rounded points."""

LIMIT_TOLERANCE = 1e-6
"""Tolerance of limits, absolute [rad or m] and relative."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Joint motion over time.

    Attributes:
        joint_names: joint names of the columns.
        time: (n) times from 0 [s].
        q, v, a: (n, joints) positions, velocities, accelerations.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    v: Array
    a: Array

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return float(self.time[-1])

    def of(self, names: Sequence[str]) -> Motion:
        """The motion with columns in the order of ``names``."""
        columns = [self.joint_names.index(name) for name in names]
        parts = (part[:, columns] for part in (self.q, self.v, self.a))
        return Motion(tuple(names), self.time, *parts)


def straight_way(robot: Robot, begin: Array, end: Array, speed: float) -> Motion:
    """Straight motion from rest to rest, all joints at once.

    Args:
        robot: the robot.
        begin, end: (nv) positions [rad or m].
        speed: largest joint speed; lower if velocity limits require it [rad/s or m/s].
    """
    distance = end - begin
    # The largest speed of a quintic polynomial is 15/8 times its mean speed.
    fastest = np.minimum(speed, VELOCITY_SHARE * robot.velocity_limits)
    duration = max(MIN_DURATION, float((15.0 / 8.0 * np.abs(distance) / fastest).max()))
    s = np.linspace(0.0, 1.0, POINTS)[:, np.newaxis]
    q = begin + distance * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    v = distance * 30.0 * s**2 * (1.0 - s) ** 2 / duration
    a = distance * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2
    return Motion(robot.joint_names, duration * s[:, 0], q, v, a)


def check_motion(robot: Robot, motion: Motion, what: str, clearance: Clearance | None) -> None:
    """Check that a motion respects joint limits, link distances and the floor.

    Args:
        robot: robot with the joints of the motion, in its order.
        motion: motion of all joints.
        what: name of the motion in messages.
        clearance: distances of links and floor; None if shapes are unknown.

    Raises:
        InvalidArgumentError: it does not.
    """
    low, high = robot.lower_limits, robot.upper_limits
    for quantity, values, least, most in (
        ('positions', motion.q, low, high),
        ('velocities', motion.v, -robot.velocity_limits, robot.velocity_limits),
    ):
        slack = LIMIT_TOLERANCE * (1.0 + np.abs(np.nan_to_num(most, posinf=0.0)))
        outside = (values < least - slack) | (values > most + slack)
        beyond = np.flatnonzero(outside.any(axis=0))
        if not np.isfinite(values).all():
            raise InvalidArgumentError(what, f'has {quantity} that are no numbers', 'finite ones')
        if len(beyond):
            names = [robot.joint_names[j] for j in beyond]
            problem = f'has {quantity} of {", ".join(names)} beyond the limits'
            raise InvalidArgumentError(what, problem, 'what the robot can do')
    # Positions that jump would be fast, whatever velocities the points name.
    between = np.abs(np.diff(motion.q, axis=0)) / np.diff(motion.time)[:, np.newaxis]
    jumping = np.flatnonzero((between > FASTER * robot.velocity_limits).any(axis=0))
    if len(jumping):
        names = [robot.joint_names[j] for j in jumping]
        problem = f'has positions of {", ".join(names)} that change faster than the velocity limits'
        raise InvalidArgumentError(what, problem, 'what the robot can do')
    if clearance is not None:
        looked = motion.q[:: max(1, len(motion.q) // CHECKED_POSTURES)]
        clearance.check(looked, 0.5 * CLEARANCE, what)
