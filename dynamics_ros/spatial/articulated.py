# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Articulated-body inertia: the apparent inertia of a body with its movable subtree ([Lie] 2.2)."""

from __future__ import annotations

from .inertia import Inertia
from .motion import Force, Motion, matrix_of
from .scalar import Scalar
from .transform import Transform
from .vector import Matrix3


class ArticulatedInertia:
    """Articulated-body inertia Y as blocks A, B, D: f = A v + B w, tau = B^T v + D w.

    Y is symmetric. It takes a spatial acceleration (v, w) to the force (f, tau) that causes it.
    """

    __slots__ = ('A', 'B', 'D')

    def __init__(self, A: Matrix3, B: Matrix3, D: Matrix3) -> None:
        self.A = A
        self.B = B
        self.D = D

    @classmethod
    def of(cls, inertia: Inertia) -> ArticulatedInertia:
        """Articulated-body inertia of a single rigid body ([SE3] 5.1)."""
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
        """Rows of the 6x6 matrix Y, linear part first."""
        return matrix_of(Motion, self.__matmul__)

    def without(self, force: Force, factor: Scalar) -> ArticulatedInertia:
        """Y - factor U U^T for the force U: Y without the inertia along the axis of a joint.

        With U = Y S of a joint with axis S and factor = 1 / (S^T U), the result gives no force for
        the acceleration S.
        """
        f, tau = force.linear * factor, force.angular * factor
        return ArticulatedInertia(
            self.A - Matrix3.outer(f, force.linear),
            self.B - Matrix3.outer(f, force.angular),
            self.D - Matrix3.outer(tau, force.angular),
        )

    def seen_from(self, X_PB: Transform) -> ArticulatedInertia:
        """X* Y X^-1: this inertia, given in frame B, in the parent frame P ([SE3] 5.1)."""
        R, p = X_PB.rotation, Matrix3.skew(X_PB.translation)
        A = R @ self.A @ R.T
        B = R @ self.B @ R.T
        D = R @ self.D @ R.T
        pB = p @ B
        return ArticulatedInertia(A, B - A @ p, D + pB + pB.T - p @ A @ p)
