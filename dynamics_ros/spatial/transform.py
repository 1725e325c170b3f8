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


class Transformable(Protocol):
    """A quantity that is expressed in a frame and can be transformed to another frame."""

    def seen_from(self: TransformableT, X_PB: Transform, /) -> TransformableT:
        """This quantity, given in frame B, expressed in the parent frame P."""


TransformableT = TypeVar('TransformableT', bound=Transformable)


class Transform:
    """Pose X_AB of frame B in frame A: rotation R_AB and translation p_AB [m], both in A.

    ``X_AB.act`` maps quantities expressed in B to A. ``X_AB.inverse_act`` maps quantities expressed
    in A to B without forming the inverse, which is the cheaper of the two ([SE3] 8.4).
    """

    __slots__ = ('rotation', 'translation')

    def __init__(self, rotation: Matrix3, translation: Vector3) -> None:
        self.rotation = rotation
        self.translation = translation

    @classmethod
    def identity(cls) -> Transform:
        """The identity X_AA."""
        return cls(Matrix3.identity(), Vector3.zero())

    @classmethod
    def from_array(cls, array: ArrayLike) -> Transform:
        """Transform of homogeneous matrices (..., 4, 4); leading axes make its numbers arrays."""
        return transform_of_rows(split(array, (4, 4), 'transform'))

    def array(self) -> Array:
        """The homogeneous matrix as an array (..., 4, 4)."""
        return stack(self.rows())

    def position_and_quaternion(self) -> list[Scalar]:
        """Seven numbers: p_AB (x, y, z) [m] and the quaternion of R_AB (x, y, z, w), w >= 0."""
        return [*self.translation, *matrix_to_quaternion(self.rotation)]

    @classmethod
    def exp(cls, twist: Motion) -> Transform:
        """Displacement by a constant body twist during one second, [Lie] 1.1, [RBM]."""
        w = twist.angular
        return cls(exp_matrix(w), exp_left_jacobian(w) @ twist.linear)

    def log(self) -> Motion:
        """Constant body twist whose motion during one second is this displacement, [RBM].

        Its rotation angle is at most pi. A displacement by half a turn has two such twists, with
        opposite axes; one of them is returned.

        Raises:
            InvalidArgumentError: the rotation is not a rotation matrix.
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
    def act(self, other: TransformableT) -> TransformableT: ...
    def act(self, other: Any) -> Any:
        """Transform a motion, force, inertia or point from B to A ([SE3] 3 to 5).

        Other types, such as `ArticulatedInertia`, implement ``seen_from``.
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
        """Transform a motion, force, inertia or point from A to B ([SE3] 3 to 5)."""
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
        """Rows of the adjoint, the 6x6 matrix ^A X_B that transforms motions ([SE3] 3)."""
        return matrix_of(Motion, lambda m: self.act(m))

    def force_matrix(self) -> list[list[Scalar]]:
        """Rows of the 6x6 matrix ^A X_B^* that transforms forces ([SE3] 4).

        It is the inverse transpose of `motion_matrix`.
        """
        return matrix_of(Force, lambda f: self.act(f))

    def rows(self) -> list[list[Scalar]]:
        """Rows of the homogeneous 4x4 matrix."""
        R, p = self.rotation, self.translation
        top = [[*row, component] for row, component in zip(R, p, strict=True)]
        return [*top, [0.0, 0.0, 0.0, 1.0]]

    def __repr__(self) -> str:
        return f'Transform({self.rotation}, {self.translation})'


def transform_of_rows(rows: Sequence[Sequence[Scalar]]) -> Transform:
    """Transform with the given rows of a homogeneous 4x4 matrix."""
    return Transform(Matrix3([row[:3] for row in rows[:3]]), Vector3.of(row[3] for row in rows[:3]))


def _congruence(R: Matrix3, symmetric: Matrix3) -> Matrix3:
    """R S R^T of a symmetric matrix S; only the six entries of the upper triangle are computed."""
    half = R @ symmetric
    upper = [[half.rows[i].dot(R.rows[j]) if j >= i else 0.0 for j in range(3)] for i in range(3)]
    return Matrix3([[upper[min(i, j)][max(i, j)] for j in range(3)] for i in range(3)])
