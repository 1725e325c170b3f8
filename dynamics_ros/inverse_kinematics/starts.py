# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start positions of searches: evenly spread over the joint ranges, sorted by pose distance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

Vector = NDArray[np.float64]

SORTED = 256
"""Number of starts that are sorted by their poses. More starts would hardly bring the nearest one
closer in six dimensions, and sorting would take longer than a search that fails."""

MIN_SPREAD = 1e-9
"""Spread of positions below which a frame only rotates [m]."""


class Starts:
    """A fixed sequence of joint positions, with the poses of its first ones.

    A low-discrepancy sequence has no large gaps [Roberts2018]. A search that starts at a pose near
    the target converges faster and more often.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        frames: tuple[str, ...],
        q_index: slice | NDArray[np.intp],
        ranges: Vector,
        random_seed: int,
    ) -> None:
        """Create the sequence.

        Args:
            robot: the robot.
            frames: names of m frames.
            q_index: indices in q of the n joints that move them.
            ranges: (2, n) lower and upper ends of the positions [rad or m].
            random_seed: selects the sequence.
        """
        self._low, self._width = ranges[0], ranges[1] - ranges[0]
        self._increments = _increments(len(self._low))
        self._offset: Vector | float = 0.5
        if random_seed:
            self._offset = np.random.default_rng(random_seed).random(len(self._low))
        self._positions = self._sequence(0, SORTED)
        q = np.tile(robot.neutral(), (SORTED, 1))
        q[:, q_index] = self._positions
        poses = np.array([robot.forward_kinematics(q, frame) for frame in frames])
        points = poses[:, :, :3, 3]
        means = points.mean(axis=1, keepdims=True)
        spread = float(np.sqrt(np.square(points - means).sum(axis=2).mean()))
        self.spread = spread if spread > MIN_SPREAD else 1.0
        # |p - p*|^2 / L^2 + |R - R*|^2 / 2, without terms that are the same for all starts, is an
        # inner product with the entries of the targets plus a constant.
        features = np.zeros((SORTED, len(frames), 4, 4))
        linear = np.moveaxis(-2.0 * (points - means) / self.spread**2, 0, 1)
        features[:, :, :3, 3] = linear
        squares = np.square((points - means) / self.spread).sum(axis=(0, 2))
        self._constant = squares - (linear * means[:, 0]).sum(axis=(1, 2))
        positions_only = features.reshape(SORTED, -1).copy()
        features[:, :, :3, :3] = np.moveaxis(-poses[:, :, :3, :3], 0, 1)
        self._features = features.reshape(SORTED, -1), positions_only

    def toward(self, targets: Vector, count: int, position_only: bool) -> Iterator[Vector]:
        """Joint positions (n) of ``count`` starts.

        Args:
            targets: (m, 4, 4) desired poses.
            count: number of starts.
            position_only: ignore the rotation of the targets.
        """
        distances = self._features[position_only] @ targets.ravel() + self._constant
        if count:
            # Few searches need another start, so the others are not sorted yet.
            yield self._positions[distances.argmin()]
        for k in distances.argsort(kind='stable')[1:count].tolist():
            yield self._positions[k]
        for k in range(SORTED, count):
            yield self._sequence(k, k + 1)[0]

    def _sequence(self, first: int, last: int) -> Vector:
        terms = np.arange(first + 1, last + 1)[:, None]
        unit: Vector = (self._offset + terms * self._increments) % 1.0
        return self._low + self._width * unit


def _increments(n: int) -> Vector:
    """Powers of 1 / g (n) with g^(n+1) = g + 1, the golden ratio of n dimensions [Roberts2018]."""
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (n + 1))
    powers: Vector = g ** -np.arange(1.0, n + 1.0)
    return powers
