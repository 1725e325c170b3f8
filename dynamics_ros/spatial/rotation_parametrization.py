# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every parametrization of a rotation can do ([RD] 2.4.5 and 2.5.1, [Kindr])."""

from __future__ import annotations

from abc import ABC, abstractmethod

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
"""A matrix of any size, by its rows."""


class RotationParametrization(ABC):
    """Numbers that say how frame B is turned in frame A. Every method takes arrays (..., n), too.

    A rate map is E_R of [RD] eq. 2.82: it takes the rates of the parameters to the angular velocity
    w_AB, expressed in A; a body rate map to the same in B. The inverses take it back. With four
    parameters the rates of E_R^-1 are those that keep the unit length.

    Attributes:
        name: e.g. euler_zyx; the key in `ROTATIONS`.
        parameters: the names of the numbers, in order.
    """

    name: str
    parameters: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many numbers."""
        return len(self.parameters)

    @over_arrays_method
    @abstractmethod
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """Unit quaternion q_AB; q and -q are the same rotation."""

    @over_arrays_method
    @abstractmethod
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """Parameters of a unit quaternion."""

    @over_arrays_method
    def to_matrix(self, p: Parameters) -> Matrix3:
        """Rotation matrix R_AB."""
        return quaternion_to_matrix(self.to_quaternion(p))

    @over_arrays_method
    def from_matrix(self, R: Matrix3) -> Parameters:
        """Parameters of a rotation matrix.

        Raises:
            InvalidArgumentError: numbers that are no rotation matrix.
        """
        return self.from_quaternion(matrix_to_quaternion(R))

    @over_arrays_method
    def to(self, p: Parameters, other: RotationParametrization) -> Parameters:
        """Parameters of the same rotation in another parametrization."""
        return other.from_quaternion(self.to_quaternion(p))

    @over_arrays_method
    @abstractmethod
    def rate_map(self, p: Parameters) -> Rows:
        """E_R (3 x n): rates of the parameters to w_AB in A."""

    @over_arrays_method
    @abstractmethod
    def body_rate_map(self, p: Parameters) -> Rows:
        """R_AB^T E_R (3 x n): rates of the parameters to w_AB in B."""

    @over_arrays_method
    @abstractmethod
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1 (n x 3): w_AB in A to rates of the parameters.

        Raises:
            SingularParametrizationError: the angular velocity does not determine the rates.
        """

    @over_arrays_method
    @abstractmethod
    def body_rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1 R_AB (n x 3): w_AB in B to rates of the parameters.

        Raises:
            SingularParametrizationError: the angular velocity does not determine the rates.
        """

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
        """R_AB v: coordinates in B to A ([RD] passive), or v turned inside A (active)."""
        return quaternion_rotate(self.to_quaternion(p), v)

    @over_arrays_method
    def rotate_inverse(self, p: Parameters, v: Vector3) -> Vector3:
        """R_AB^T v: coordinates in A to B, the passive rotation of [Kindr]."""
        return quaternion_rotate_inverse(self.to_quaternion(p), v)

    @over_arrays_method
    def box_plus(self, p: Parameters, v: Vector3) -> Parameters:
        """Turned by the rotation vector v [rad] of A, [Kindr] 8."""
        return self.from_quaternion(box_plus(self.to_quaternion(p), v))

    @over_arrays_method
    def box_minus(self, a: Parameters, b: Parameters) -> Vector3:
        """The rotation vector [rad] of A that takes b to a, [Kindr] 9."""
        return box_minus(self.to_quaternion(a), self.to_quaternion(b))

    @over_arrays_method
    def interpolate(self, a: Parameters, b: Parameters, t: Scalar) -> Parameters:
        """a at t = 0, b at t = 1, the shorter way at constant angular velocity, [Kindr] 12."""
        return self.from_quaternion(slerp(self.to_quaternion(a), self.to_quaternion(b), t))

    def counted(self, p: Parameters) -> Parameters:
        """The parameters themselves.

        Raises:
            InvalidArgumentError: not as many as this parametrization has.
        """
        if len(p) != self.size:
            raise InvalidArgumentError(
                self.name, f'{len(p)} numbers', f'{self.size}: {", ".join(self.parameters)}'
            )
        return p

    def __repr__(self) -> str:
        return self.name.upper()
