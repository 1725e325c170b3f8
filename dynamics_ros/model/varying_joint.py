# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints whose motion subspace depends on their coordinates: S(q), with c_J = S-dot v ([SE3] 7)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from dynamics_ros.spatial import Motion, Scalar

from .joints import JointKind


class VaryingJoint(JointKind):
    """Joint with a varying motion subspace S; its velocities are the rates of its coordinates.

    Derivatives are of components in the frame of the moving body.
    """

    has_axis: ClassVar[bool] = False

    @abstractmethod
    def subspace_slopes(self, q: Sequence[Scalar]) -> list[list[Motion]]:
        """``slopes[m][k]``: derivative of column m of S by coordinate k."""

    @abstractmethod
    def subspace_curvatures(self, q: Sequence[Scalar]) -> list[list[list[Motion]]]:
        """``curvatures[m][l][k]``: derivative of ``slopes[m][l]`` by coordinate k."""

    def integrate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
        """q + v."""
        return [x + y for x, y in zip(q, v, strict=True)]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """q1 - q0."""
        return [y - x for x, y in zip(q0, q1, strict=True)]

    def displacements(self, q: Sequence[Scalar]) -> list[Motion]:
        """Screw motion from the zero position."""
        return [self.transform(q).log()]

    def random(self, generator: Any, lower: float, upper: float) -> list[float]:
        """Random position within the limits of one coordinate, or within 1 of the neutral one."""
        if self.nq == 1 and math.isfinite(lower) and math.isfinite(upper):
            return [generator.uniform(lower, upper)]
        return list(generator.uniform(-1.0, 1.0, self.nq))
