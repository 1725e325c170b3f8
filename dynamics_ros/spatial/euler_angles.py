# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Euler angles: three successive rotations about axes of the moving frame ([RD] 2.4.5, 2.5.1).

One class covers all sequences of axes. [RD] lists the formulas of ZYX, XYZ, ZYZ and ZXZ separately;
here they are derived from the three axes.
"""

from __future__ import annotations

import math

from dynamics_ros.errors import SingularParametrizationError

from .exponential import NEAR_SINGULAR
from .over_arrays import Parameters, Quaternion, over_arrays_method
from .rotation import (
    quaternion_about,
    quaternion_product,
    quaternion_to_matrix,
    require_rotation,
    rotation_about,
)
from .rotation_parametrization import RotationParametrization, Rows
from .scalar import Scalar, atan2, cos, refuse_less, sin, sqrt, where_less
from .vector import Matrix3, Vector3

AXES = (Vector3(1.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0), Vector3(0.0, 0.0, 1.0))


class EulerAngles(RotationParametrization):
    """Three angles [rad]: R_AB = R_i(first) R_j(second) R_k(third), about axes i, j, k.

    The second angle of three different axes (ZYX, XYZ) is in [-pi/2, pi/2]; where the first axis
    comes again (ZYZ, ZXZ) it is in [0, pi]. Both ends of its range are singular (gimbal lock).

    The first and third angle are in [-pi, pi), as in [Kindr]. The range of the second angle
    includes its upper end, because no other angles describe the same rotation. At a singularity the
    first and third rotation have the same axis, so only the sum or the difference of their angles
    is determined. There `from_matrix` returns one pair that reproduces the rotation, and
    `rate_map_inverse` raises a SingularParametrizationError.
    """

    def __init__(self, axes: str) -> None:
        self.name = f'euler_{axes}'
        repeated = axes[0] == axes[2]
        self.parameters = (f'{axes[0]}1', axes[1], f'{axes[2]}2') if repeated else tuple(axes)
        self._axes = tuple('xyz'.index(axis) for axis in axes)
        i, j, _ = self._axes
        self._proper = repeated
        # The third axis m besides i and j; the sign is +1 if (i, j, m) is right-handed, else -1.
        self._completing = 3 - i - j
        self._sign = 1.0 if (j - i) % 3 == 1 else -1.0

    def _units(self) -> tuple[Vector3, Vector3, Vector3]:
        i, j, k = self._axes
        return AXES[i], AXES[j], AXES[k]

    @over_arrays_method
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """Unit quaternion q_AB, the product of three elementary rotations."""
        a, b, c = map(quaternion_about, self._units(), self.counted(p))
        return quaternion_product(quaternion_product(a, b), c)

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """Angles of a unit quaternion; see `from_matrix`."""
        return self._angles(quaternion_to_matrix(q))

    @over_arrays_method
    def to_matrix(self, p: Parameters) -> Matrix3:
        """Rotation matrix R_AB, [RD] eq. 2.33, 2.37, 2.41, 2.44."""
        a, b, c = map(rotation_about, self._units(), self.counted(p))
        return a @ b @ c

    @over_arrays_method
    def from_matrix(self, R: Matrix3) -> Parameters:
        """Angles of a rotation matrix, in the ranges that the class documents.

        Raises:
            InvalidArgumentError: R is not a rotation matrix.
        """
        require_rotation(R)
        return self._angles(R)

    def _angles(self, R: Matrix3) -> Parameters:
        """Angles of a rotation matrix, [RD] eq. 2.35, 2.39, 2.42, 2.45.

        The third angle is computed from R_i(first)^T R instead of R. It therefore fits the computed
        first angle, and the three angles reproduce R also at a singularity.
        """
        (i, j, _), m, sign = self._axes, self._completing, self._sign
        if self._proper:
            y, x = R[j, i], -sign * R[m, i]
            second = atan2(sqrt(x * x + y * y), R[i, i])
        else:
            y, x = -sign * R[j, m], R[m, m]
            second = atan2(sign * R[i, m], sqrt(x * x + y * y))
        first = atan2(y, x)
        row = R.rows[j] * cos(first) + R.rows[m] * (sign * sin(first))
        sine = -sign * row[m] if self._proper else sign * row[i]
        return _half_open(first), second, _half_open(atan2(sine, row[j]))

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """E_R: columns are the three rotation axes in A, [RD] eq. 2.86, 2.88, 2.90, 2.92."""
        return _columns(self._axes_in_A(p))

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1, [RD] eq. 2.87, 2.89, 2.91, 2.93.

        Raises:
            SingularParametrizationError: the first and third axis are parallel.
        """
        return self._inverse(self._axes_in_A(p))

    def _axes_in_A(self, p: Parameters) -> tuple[Vector3, Vector3, Vector3]:
        first, second, _ = self.counted(p)
        i, j, k = self._units()
        R_i, R_j = rotation_about(i, first), rotation_about(j, second)
        return i, R_i @ j, R_i @ (R_j @ k)

    def _inverse(self, axes: tuple[Vector3, Vector3, Vector3]) -> Rows:
        """Inverse of a matrix with three unit columns, the second orthogonal to both others."""
        a, b, c = axes
        normal = b.cross(c)
        determinant = a.dot(normal)
        refuse_less(determinant * determinant, NEAR_SINGULAR**2, self._parallel)
        scale = 1.0 / determinant
        return [[*(normal * scale)], [*b], [*(a.cross(b) * scale)]]

    def _parallel(self) -> SingularParametrizationError:
        where = '0 or pi' if self._proper else '+-pi/2'
        return SingularParametrizationError(
            self.name,
            f'the second angle is {where}, where the first and third axis are parallel; '
            'use a quaternion',
        )


def _half_open(angle: Scalar) -> Scalar:
    """Map an angle in [-pi, pi] to [-pi, pi)."""
    return where_less(angle, math.pi, angle, -math.pi)


def _columns(vectors: tuple[Vector3, Vector3, Vector3]) -> Rows:
    return [[v[row] for v in vectors] for row in range(3)]


EULER_ZYX = EulerAngles('zyx')
"""Yaw, pitch, roll: turns about z, the new y, the new x."""

EULER_XYZ = EulerAngles('xyz')
"""Turns about x, the new y, the new z (Cardan angles)."""

EULER_ZYZ = EulerAngles('zyz')
"""Turns about z, the new y, the new z."""

EULER_ZXZ = EulerAngles('zxz')
"""Turns about z, the new x, the new z."""
