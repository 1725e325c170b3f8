# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of the links of a robot from each other and from the floor, over many postures."""

from __future__ import annotations

import itertools

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.model import ROOT
from dynamics_ros.model.collision_geometry import CollisionGeometry
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

SPACING = 0.03
"""Distance between points that represent a surface [m]."""


POSTURES = 48
"""Number of random postures within the limits that give the usual distance of two bodies."""


class Clearance:
    """Points on the surfaces of links, in the frames of the bodies that carry them.

    Adjacent bodies, and bodies within ``SPACING`` in all of many postures, are not compared. Other
    bodies may be inherently close, such as the second next link of a wrist: their median distance,
    or that in the nominal posture, an arm's usual start, may be below the one that is required. Of
    these, half of it is required.
    """

    def __init__(self, robot: Robot, geometry: CollisionGeometry) -> None:
        self._robot = robot
        self._frames = {name: k for k, name in enumerate(robot.frame_names)}
        points: dict[int, list[tuple[str, Array]]] = {}
        for link, triangles in geometry.triangles.items():
            if link in self._frames:
                body = robot.model.frame(link).body
                points.setdefault(body, []).append((link, _thinned(triangles)))
        self._points = points
        parents = {body: joint.parent for body, joint in enumerate(robot.model.joints)}
        self._pairs = [
            (a, b)
            for a, b in itertools.combinations(sorted(points), 2)
            if parents.get(b) != a and parents.get(a) != b
        ]
        within = [robot.nominal(), *map(robot.random_configuration, range(POSTURES))]
        usual = self._distances(np.array(within))
        apart = usual.max(axis=0) > SPACING
        self._pairs = list(itertools.compress(self._pairs, apart))
        self._usual = np.minimum(np.median(usual, axis=0), usual[0])[apart]

    def smallest(self, q: Array) -> float:
        """Smallest distance of links over postures (n, nq), at most ``SPACING`` too large [m]."""
        return float(self._distances(q).min(initial=np.inf))

    def too_close(self, q: Array, distance: float) -> float:
        """Smallest distance of links that are closer than required; inf if none are [m].

        Args:
            q: postures (n, nq).
            distance: required distance of links that are not inherently close [m].
        """
        found = self._distances(q)
        required = np.where(self._usual > distance, distance, 0.5 * self._usual)
        return float(found[found <= required].min(initial=np.inf))

    def _distances(self, q: Array) -> Array:
        """Distances (n, pairs) in postures (n, nq); inf from four times ``SPACING`` on [m]."""
        clouds = self._clouds(q)
        distances = np.full((len(q), len(self._pairs)), np.inf)
        for posture in range(len(q)):
            trees = {body: scipy.spatial.cKDTree(cloud[posture]) for body, cloud in clouds.items()}
            for k, (a, b) in enumerate(self._pairs):
                found = trees[a].query(clouds[b][posture], distance_upper_bound=4.0 * SPACING)[0]
                distances[posture, k] = found.min()
        return distances

    def lowest(self, q: Array) -> float:
        """Lowest height of a moving link in the root frame over postures (n, nq) [m]."""
        clouds = self._clouds(q)
        heights = [float(c[..., 2].min()) for body, c in clouds.items() if body != ROOT]
        return min(heights, default=np.inf)

    def _clouds(self, q: Array) -> dict[int, Array]:
        poses = self._robot.all_frames(q)
        return {
            body: np.concatenate(
                [
                    points @ poses[:, self._frames[link], :3, :3].transpose(0, 2, 1)
                    + poses[:, self._frames[link], np.newaxis, :3, 3]
                    for link, points in parts
                ],
                axis=1,
            )
            for body, parts in self._points.items()
        }


def _thinned(triangles: Array) -> Array:
    """Points about ``SPACING`` apart on triangles (n, 3, 3)."""
    edges = np.linalg.norm(np.roll(triangles, -1, axis=1) - triangles, axis=2).max(axis=1)
    found = []
    for triangle, size in zip(triangles, edges, strict=True):
        parts = max(1, min(30, int(np.ceil(size / SPACING))))
        steps = [(i, j) for i in range(parts + 1) for j in range(parts + 1 - i)]
        weights = np.array([(i, j, parts - i - j) for i, j in steps]) / parts
        found.append(weights @ triangle)
    points = np.concatenate(found)
    _, kept = np.unique(np.round(points / SPACING).astype(np.int64), axis=0, return_index=True)
    thinned: Array = points[kept]
    return thinned
