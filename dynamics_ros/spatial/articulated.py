# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The inertia that a body feels to have when what it carries may move ([Lie] 2.2)."""

from __future__ import annotations

from .inertia import Inertia
from .motion import Force, Motion, matrix_of
from .scalar import Scalar
from .transform import Transform
from .vector import Matrix3


class ArticulatedInertia:
    """A symmetric map from accelerations to forces: f = A v + B w, tau = B^T v + D w."""

    __slots__ = ('A', 'B', 'D')

    def __init__(self, A: Matrix3, B: Matrix3, D: Matrix3) -> None:
        self.A = A
        self.B = B
        self.D = D

    @classmethod
    def of(cls, inertia: Inertia) -> ArticulatedInertia:
        """The blocks of a rigid body's inertia ([SE3] 5.1)."""
        return cls(
            Matrix3.identity() * inertia.mass,
            Matrix3.skew(inertia.center * -inertia.mass),
            inertia.about_origin(),
        )

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.A + other.A, self.B + other.B, self.D + other.D)

    def __matmul__(self, motion: Motion) -> Force:
        v, w = motion.linear, motion.angular
        return Force(self.A @ v + self.B @ w, self.B.transpose_apply(v) + self.D @ w)

    def matrix(self) -> list[list[Scalar]]:
        """The 6x6 matrix of a -> Y a."""
        return matrix_of(Motion, self.__matmul__)

    def without(self, force: Force, factor: Scalar) -> ArticulatedInertia:
        """Y - factor U U^T: a joint yields along U."""
        f, tau = force.linear * factor, force.angular * factor
        return ArticulatedInertia(
            self.A - Matrix3.outer(f, force.linear),
            self.B - Matrix3.outer(f, force.angular),
            self.D - Matrix3.outer(tau, force.angular),
        )

    def seen_from(self, X_PB: Transform) -> ArticulatedInertia:
        """X* Y X^-1: the same inertia in the parent frame ([SE3] 5.1)."""
        R, p = X_PB.rotation, Matrix3.skew(X_PB.translation)
        A = R @ self.A @ R.T
        B = R @ self.B @ R.T
        D = R @ self.D @ R.T
        pB = p @ B
        return ArticulatedInertia(A, B - A @ p, D + pB + pB.T - p @ A @ p)
