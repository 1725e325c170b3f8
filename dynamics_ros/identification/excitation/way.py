# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The way of a robot to the start of a motion, and whether a motion is one that it may make."""

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
"""Of the way."""

LOOKED_AT = 200
"""Postures of a motion at which distances of links are looked at."""

SHORTEST = 2.0
"""s that the shortest way takes."""

SLOW = 0.1
"""Share of the velocity limit that a way may take."""

FASTER = 1.05
"""Velocity between two points, relative to the limit, that the rounding of points explains."""

ROUNDING = 1e-6
"""rad or m, or its share, that a motion may be beyond a limit."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Positions over time.

    Attributes:
        joint_names: of the columns.
        time: (n) s, from 0.
        q, v, a: (n, joints).
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    v: Array
    a: Array

    @property
    def duration(self) -> float:
        """s."""
        return float(self.time[-1])

    def of(self, names: Sequence[str]) -> Motion:
        """With the columns in another order."""
        columns = [self.joint_names.index(name) for name in names]
        parts = (part[:, columns] for part in (self.q, self.v, self.a))
        return Motion(tuple(names), self.time, *parts)


def straight_way(robot: Robot, begin: Array, end: Array, speed: float) -> Motion:
    """From rest to rest, all joints at once.

    Args:
        robot: whose joints.
        begin, end: (nv) positions.
        speed: of the fastest joint [rad/s or m/s]; less where limits are low.
    """
    distance = end - begin
    # The quintic is 15/8 times as fast in the middle as on average.
    fastest = np.minimum(speed, SLOW * robot.velocity_limits)
    duration = max(SHORTEST, float((15.0 / 8.0 * np.abs(distance) / fastest).max()))
    s = np.linspace(0.0, 1.0, POINTS)[:, np.newaxis]
    q = begin + distance * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    v = distance * 30.0 * s**2 * (1.0 - s) ** 2 / duration
    a = distance * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2
    return Motion(robot.joint_names, duration * s[:, 0], q, v, a)


def check_motion(
    robot: Robot, motion: Motion, what: str, clearance: Clearance | None, floor: float | None
) -> None:
    """Whether a motion stays within limits and its links apart and above the floor.

    Args:
        robot: with the joints of the motion, in its order.
        motion: of all joints.
        what: name of the motion, for messages.
        clearance: of the links; None where no shapes are known.
        floor: height that links stay above [m]; None for none.

    Raises:
        InvalidArgumentError: it does not.
    """
    low, high = robot.lower_limits, robot.upper_limits
    for quantity, values, least, most in (
        ('positions', motion.q, low, high),
        ('velocities', motion.v, -robot.velocity_limits, robot.velocity_limits),
    ):
        slack = ROUNDING * (1.0 + np.abs(np.nan_to_num(most, posinf=0.0)))
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
    if clearance is None:
        return
    looked = motion.q[:: max(1, len(motion.q) // LOOKED_AT)]
    apart = clearance.smallest(looked)
    if apart < 0.5 * CLEARANCE:
        problem = f'brings links as near as {apart:.3f} m to each other'
        raise InvalidArgumentError(what, problem, f'at least {0.5 * CLEARANCE:g} m')
    if floor is not None and clearance.lowest(looked) < floor:
        raise InvalidArgumentError(what, f'goes below {floor:g} m', 'heights above the floor')
