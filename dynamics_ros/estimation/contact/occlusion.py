# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Points of a robot at which other parts of it leave no room for a hand: see ``location.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .surface import Patches

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

REACH = (0.01, 0.3)
"""Range along the line of action in which another part occludes a contact [m]."""

LINES = 16
"""Number of lines of action that are compared with all pieces at a time."""


class PosedSurfaces:
    """Surfaces of all links, posed at a configuration."""

    def __init__(self, robot: Robot, surfaces: Mapping[str, Patches], q: ArrayLike) -> None:
        self._poses = [robot.forward_kinematics(q, link) for link in surfaces]
        self._points = np.concatenate(
            [
                patches.points @ X[:3, :3].T + X[:3, 3]
                for patches, X in zip(surfaces.values(), self._poses, strict=True)
            ]
        )
        self._squared_width = squared = (
            np.concatenate([patches.areas for patches in surfaces.values()]) / np.pi
        )
        self._largest_width = np.sqrt(squared.max(initial=0.0))

    def hide(self, link: int, points: Array, forces: Array) -> NDArray[np.bool_]:
        """Returns whether the robot occludes forces (n, 3) at points (n, 3) in a link frame.

        A force of zero, which has no direction, is not occluded.
        """
        X = self._poses[link]
        away = -forces @ X[:3, :3].T
        sizes = np.linalg.norm(away, axis=1, keepdims=True)
        np.divide(away, sizes, out=away, where=sizes > 0.0)
        points = points @ X[:3, :3].T + X[:3, 3]
        middle, axis = points.mean(axis=0), away.mean(axis=0)
        points = points - middle
        # Pieces near the lines of action: within a sphere and a cylinder that contain them.
        radius = np.sqrt(np.square(points).sum(axis=1).max())
        spread = np.sqrt(np.square(away - axis).sum(axis=1).max())
        offsets = self._points - middle
        squares = np.einsum('ij,ij->i', offsets, offsets)
        limit = radius + REACH[1] * spread + self._largest_width
        ahead_of_middle = offsets @ axis
        near = squares < (radius + REACH[1] + self._largest_width) ** 2
        near &= (squares - limit**2) * (axis @ axis) <= ahead_of_middle**2
        near &= ahead_of_middle > -limit
        # Rows of two products with these columns: where the pieces are along each line of action,
        # and the squares of their distances from the points less those of their widths. Single
        # precision and few lines at a time, so that the products stay in the cache.
        rest = squares[near] - self._squared_width[near]
        pieces = np.column_stack((offsets[near], rest, np.ones(len(rest)))).T.astype(np.float32)
        zeros, ones = np.zeros(len(points)), np.ones(len(points))
        along = np.column_stack((away, zeros, -np.einsum('ni,ni->n', points, away)))
        apart = np.column_stack((-2.0 * points, ones, np.einsum('ni,ni->n', points, points)))
        found = np.zeros(len(points), dtype=bool)
        for begin in range(0, len(points), LINES):
            some = slice(begin, begin + LINES)
            ahead = along[some].astype(np.float32) @ pieces
            hits = apart[some].astype(np.float32) @ pieces < ahead * ahead
            hits &= (ahead > REACH[0]) & (ahead < REACH[1])
            found[some] = hits.any(axis=1)
        return found
