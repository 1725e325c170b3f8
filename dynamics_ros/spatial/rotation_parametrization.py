# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Common interface of all parametrizations of rotations ([RD] 2.4.5 and 2.5.1, [Kindr])."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from dynamics_ros.errors import InvalidArgumentError

from .over_arrays import Parameters, Quaternion, over_arrays_method
from .rotation import (
    matrix_to_quaternion,
    quaternion_conjugate,
    quaternion_product,
    quaternion_rotate,
    quaternion_rotate_inverse,
    quaternion_to_matrix,
)
from .rotation_steps import box_minus, box_plus, slerp
from .scalar import Scalar
from .vector import Matrix3, Vector3

Rows = list[list[Scalar]]
"""Rows of a matrix of any size."""


class RotationParametrization(ABC):
    """Parametrization of the orientation of frame B in frame A by n numbers.

    Every method also takes arrays (..., n).

    The rate map is E_R of [RD] eq. 2.82: it maps rates of the parameters to the angular velocity
    w_AB expressed in A. The body rate map gives w_AB expressed in B. The inverse maps take an
    angular velocity to rates of the parameters; for parametrizations with a constraint, such as
    unit length, these are the rates that satisfy it.

    Attributes:
        name: for example euler_zyx; the key in `ROTATIONS`.
        parameters: names of the n parameters, in order.
    """

    name: str
    parameters: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number n of parameters."""
        return len(self.parameters)

    @over_arrays_method
    @abstractmethod
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """Unit quaternion q_AB of the parameters; q and -q are the same rotation."""

    @over_arrays_method
    @abstractmethod
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """Parameters of the rotation of a unit quaternion."""

    @over_arrays_method
    def to_matrix(self, p: Parameters) -> Matrix3:
        """Rotation matrix R_AB of the parameters."""
        return quaternion_to_matrix(self.to_quaternion(p))

    @over_arrays_method
    def from_matrix(self, R: Matrix3) -> Parameters:
        """Parameters of a rotation matrix.

        Raises:
            InvalidArgumentError: R is not a rotation matrix.
        """
        return self.from_quaternion(matrix_to_quaternion(R))

    @over_arrays_method
    def to(self, p: Parameters, other: RotationParametrization) -> Parameters:
        """Parameters of the same rotation in another parametrization."""
        return other.from_quaternion(self.to_quaternion(p))

    @over_arrays_method
    @abstractmethod
    def rate_map(self, p: Parameters) -> Rows:
        """E_R (3 x n), which maps rates of the parameters to w_AB in A."""

    @over_arrays_method
    def body_rate_map(self, p: Parameters) -> Rows:
        """R_AB^T E_R (3 x n), which maps rates of the parameters to w_AB in B, [Kindr]."""
        return _product(self.to_matrix(p).T, self.rate_map(p))

    @over_arrays_method
    @abstractmethod
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1 (n x 3), which maps w_AB in A to rates of the parameters.

        Raises:
            SingularParametrizationError: the angular velocity does not determine the rates.
        """

    @over_arrays_method
    def body_rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1 R_AB (n x 3), which maps w_AB in B to rates of the parameters, [Kindr].

        Raises:
            SingularParametrizationError: the angular velocity does not determine the rates.
        """
        return _product(self.rate_map_inverse(p), self.to_matrix(p))

    @over_arrays_method
    def compose(self, p_AB: Parameters, p_BC: Parameters) -> Parameters:
        """Parameters of R_AB R_BC, [RD] eq. 2.31, [Kindr] 5."""
        product = quaternion_product(self.to_quaternion(p_AB), self.to_quaternion(p_BC))
        return self.from_quaternion(product)

    @over_arrays_method
    def inverse(self, p: Parameters) -> Parameters:
        """Parameters of R_BA, [Kindr] 4."""
        return self.from_quaternion(quaternion_conjugate(self.to_quaternion(p)))

    @over_arrays_method
    def rotate(self, p: Parameters, v: Vector3) -> Vector3:
        """R_AB v: maps coordinates in B to A (passive, [RD]), or rotates v in A (active)."""
        return quaternion_rotate(self.to_quaternion(p), v)

    @over_arrays_method
    def rotate_inverse(self, p: Parameters, v: Vector3) -> Vector3:
        """R_AB^T v: maps coordinates in A to B, the passive rotation of [Kindr]."""
        return quaternion_rotate_inverse(self.to_quaternion(p), v)

    @over_arrays_method
    def box_plus(self, p: Parameters, v: Vector3) -> Parameters:
        """Parameters after a further rotation by the rotation vector v [rad] in A, [Kindr] 8."""
        return self.from_quaternion(box_plus(self.to_quaternion(p), v))

    @over_arrays_method
    def box_minus(self, a: Parameters, b: Parameters) -> Vector3:
        """Rotation vector [rad] in A of the rotation from b to a, [Kindr] 9."""
        return box_minus(self.to_quaternion(a), self.to_quaternion(b))

    @over_arrays_method
    def interpolate(self, a: Parameters, b: Parameters, t: Scalar) -> Parameters:
        """Spherical interpolation from a (t = 0) to b (t = 1) by the smaller angle, [Kindr] 12."""
        return self.from_quaternion(slerp(self.to_quaternion(a), self.to_quaternion(b), t))

    def counted(self, p: Parameters) -> Parameters:
        """Check the number of parameters, and return them.

        Raises:
            InvalidArgumentError: there are not n parameters.
        """
        if len(p) != self.size:
            raise InvalidArgumentError(
                self.name, f'{len(p)} numbers', f'{self.size}: {", ".join(self.parameters)}'
            )
        return p

    def __repr__(self) -> str:
        return self.name.upper()


def _product(A: Iterable[Iterable[Scalar]], B: Iterable[Iterable[Scalar]]) -> Rows:
    columns = list(zip(*B))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in A]
