# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of the links of a robot from each other and from the floor, over a motion."""

from __future__ import annotations

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
