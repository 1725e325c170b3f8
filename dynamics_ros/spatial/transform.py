# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rigid transforms SE(3): X_AB is the pose of frame B in frame A ([SE3] 1 to 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, overload

from numpy.typing import ArrayLike

from .arrays import Array, split, stack
from .exponential import exp_left_jacobian, exp_matrix, log_left_jacobian, log_matrix
from .inertia import Inertia
from .motion import Force, Motion, matrix_of
from .rotation import matrix_to_quaternion
from .scalar import Scalar
from .vector import Matrix3, Vector3

Spatial = TypeVar('Spatial', Motion, Force, Inertia, Vector3)


class Placed(Protocol):
    """What is expressed in a frame and knows how to be expressed in another."""

    def seen_from(self: Own, X_PB: Transform, /) -> Own:
        """The same in the parent frame."""


Own = TypeVar('Own', bound=Placed)


class Transform:
    """X_AB: rotation R_AB and translation p_AB, both in A.

    ``X_AB.act`` takes what is expressed in B to A, ``X_AB.inverse_act`` from A to B without
    forming the inverse, which is the cheaper of the two ([SE3] 8.4).
    """

    __slots__ = ('rotation', 'translation')

    def __init__(self, rotation: Matrix3, translation: Vector3) -> None:
        self.rotation = rotation
        self.translation = translation

    @classmethod
    def identity(cls) -> Transform:
        """A in A."""
        return cls(Matrix3.identity(), Vector3.zero())

    @classmethod
    def from_array(cls, array: ArrayLike) -> Transform:
        """The transform, or the transforms at once, of homogeneous matrices (..., 4, 4)."""
        return transform_of_rows(split(array, (4, 4), 'transform'))

    def array(self) -> Array:
        """The homogeneous matrix (..., 4, 4)."""
        return stack(self.rows())

    def position_and_quaternion(self) -> list[Scalar]:
        """x, y, z and the quaternion x, y, z, w of the rotation, with w >= 0."""
        return [*self.translation, *matrix_to_quaternion(self.rotation)]

    @classmethod
    def exp(cls, twist: Motion) -> Transform:
        """The displacement of a constant body twist during one second, [Lie] 1.1, [RBM]."""
        w = twist.angular
        return cls(exp_matrix(w), exp_left_jacobian(w) @ twist.linear)

    def log(self) -> Motion:
        """The constant body twist that makes this displacement in one second, [RBM].

        It turns by at most pi; half a turn has two, of opposite axes, and gives one of them.

        Raises:
            InvalidArgumentError: numbers whose rotation is no rotation matrix.
        """
        w = log_matrix(self.rotation)
        return Motion(log_left_jacobian(w) @ self.translation, w)

    def __matmul__(self, other: Transform) -> Transform:
        """X_AB X_BC = X_AC ([SE3] 2)."""
        return Transform(
            self.rotation @ other.rotation,
            self.translation + self.rotation @ other.translation,
        )

    def inverse(self) -> Transform:
        """X_BA ([SE3] 1)."""
        return Transform(self.rotation.T, -self.rotation.transpose_apply(self.translation))

    def inverse_compose(self, other: Transform) -> Transform:
        """X_AB^-1 X_AC = X_BC ([SE3] 2)."""
        return Transform(
            self.rotation.T @ other.rotation,
            self.rotation.transpose_apply(other.translation - self.translation),
        )

    @overload
    def act(self, other: Spatial) -> Spatial: ...
    @overload
    def act(self, other: Own) -> Own: ...
    def act(self, other: Any) -> Any:
        """A motion, force, inertia or point expressed in B, expressed in A ([SE3] 3 to 5).

        Anything else, as an `ArticulatedInertia`, has its own ``seen_from``.
        """
        R, p = self.rotation, self.translation
        if isinstance(other, Motion):
            w = R @ other.angular
            return Motion(R @ other.linear + p.cross(w), w)
        if isinstance(other, Force):
            f = R @ other.linear
            return Force(f, R @ other.angular + p.cross(f))
        if isinstance(other, Inertia):
            return Inertia(other.mass, p + R @ other.center, _congruence(R, other.rotational))
        if isinstance(other, Vector3):
            return p + R @ other
        return other.seen_from(self)

    def inverse_act(self, other: Spatial) -> Spatial:
        """A motion, force, inertia or point expressed in A, expressed in B ([SE3] 3 to 5)."""
        R, p = self.rotation, self.translation
        if isinstance(other, Motion):
            return Motion(
                R.transpose_apply(other.linear - p.cross(other.angular)),
                R.transpose_apply(other.angular),
            )
        if isinstance(other, Force):
            return Force(
                R.transpose_apply(other.linear),
                R.transpose_apply(other.angular - p.cross(other.linear)),
            )
        if isinstance(other, Inertia):
            center = R.transpose_apply(other.center - p)
            return Inertia(other.mass, center, _congruence(R.T, other.rotational))
        return R.transpose_apply(other - p)

    def motion_matrix(self) -> list[list[Scalar]]:
        """The 6x6 matrix ^A X_B of `act` on motions, the adjoint ([SE3] 3)."""
        return matrix_of(Motion, lambda m: self.act(m))

    def force_matrix(self) -> list[list[Scalar]]:
        """The 6x6 matrix ^A X_B^* of `act` on forces ([SE3] 4): inverse transpose of the other."""
        return matrix_of(Force, lambda f: self.act(f))

    def rows(self) -> list[list[Scalar]]:
        """The homogeneous 4x4 matrix."""
        R, p = self.rotation, self.translation
        top = [[*row, component] for row, component in zip(R, p, strict=True)]
        return [*top, [0.0, 0.0, 0.0, 1.0]]

    def __repr__(self) -> str:
        return f'Transform({self.rotation}, {self.translation})'


def transform_of_rows(rows: Sequence[Sequence[Scalar]]) -> Transform:
    """The transform of a homogeneous 4x4 matrix."""
    return Transform(Matrix3([row[:3] for row in rows[:3]]), Vector3.of(row[3] for row in rows[:3]))


def _congruence(R: Matrix3, symmetric: Matrix3) -> Matrix3:
    """R S R^T; symmetric, so that its six distinct entries are computed once."""
    half = R @ symmetric
    upper = [[half.rows[i].dot(R.rows[j]) if j >= i else 0.0 for j in range(3)] for i in range(3)]
    return Matrix3([[upper[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)])
