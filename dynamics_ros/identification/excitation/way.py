# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion of a robot to the start of a planned motion, and checks of motions.

Links keep their distances from each other and from the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.collision import Collisions, Obstacle
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.model.collision_geometry import CollisionGeometry
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

CLEARANCE = 0.04
"""Least distance between links of a planned motion [m]."""

RANDOM_POSTURES = 48
"""Number of random postures within the limits that give the usual distance of two links."""

WITHIN = 0.12
"""Distance from which links count as far apart [m]."""

FLOOR = 'floor'
FLOOR_SIZE = 20.0
"""Edge of the box that stands for the floor [m]."""


class Clearance:
    """Distances by `Collisions`, and which of them are required.

    Links may be inherently close, such as the second next one of a wrist: their median distance, or
    that in the nominal posture, an arm's usual start, may be below the one that is required. Of
    these, half of it is required, and nothing of links whose convex hulls usually overlap.
    """

    def __init__(
        self, robot: Robot, geometry: CollisionGeometry, floor: float | None = None
    ) -> None:
        """Read the shapes.

        Args:
            robot: the robot.
            geometry: shapes of its links.
            floor: height in the root frame below which no moving link may be [m]; None: any.

        Raises:
            ModelError: coal is not installed.
        """
        ground = {}
        if floor is not None:
            height = floor - 0.5 * FLOOR_SIZE
            pose = (0.0, 0.0, height), (0.0, 0.0, 0.0, 1.0)
            ground[FLOOR] = Obstacle('box', [FLOOR_SIZE] * 3, pose)
        self._scene = Collisions(robot, geometry, obstacles=ground, ignore_unreadable=True)
        self._index = {pair: k for k, pair in enumerate(self._scene.pairs)}
        self._floor = floor
        postures = [robot.nominal(), *map(robot.random_configuration, range(RANDOM_POSTURES))]
        usual = self._distances(np.array(postures))
        self._usual = np.minimum(np.median(usual, axis=0), usual[0])
        self._above = np.array([FLOOR in pair for pair in self._index], dtype=bool)
        self._compared = ~self._above & (self._usual > 0.0)

    def smallest(self, q: Array) -> float:
        """Smallest distance of links over postures (n, nq) [m]; inf from ``WITHIN`` on."""
        return float(self._distances(q)[:, self._compared].min(initial=np.inf))

    def check(self, q: Array, distance: float, what: str) -> None:
        """Check the distances in postures.

        Args:
            q: postures (n, nq).
            distance: required distance of links that are not inherently close, to ``WITHIN`` [m].
            what: name of the motion in messages.

        Raises:
            InvalidArgumentError: links are closer than required, or a link is below the floor.
        """
        found, usual = self._distances(q), self._usual[self._compared]
        links = found[:, self._compared]
        required = np.where(usual > distance, distance, 0.5 * usual)
        apart = float(links[links <= required].min(initial=np.inf))
        if np.isfinite(apart):
            problem = f'brings links as near as {apart:.3f} m to each other'
            raise InvalidArgumentError(what, problem, f'at least {distance:g} m')
        if (found[:, self._above] < 0.0).any():
            expected = 'heights above the floor'
            raise InvalidArgumentError(what, f'goes below {self._floor:g} m', expected)

    def _distances(self, q: Array) -> Array:
        """Distances (n, pairs) in postures (n, nq); inf beyond ``WITHIN`` [m]."""
        distances = np.full((len(q), len(self._index)), np.inf)
        for row, posture in zip(distances, q, strict=True):
            found = self._scene.distances(posture, WITHIN)
            np.minimum.at(row, [self._index[pair] for pair in found.pairs], found.distance)
        return distances


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
