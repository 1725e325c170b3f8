# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Direction cosines, quaternion, angle-axis and rotation vector; and the list of all.

| name | singular where |
|---|---|
| direction_cosines | nowhere |
| quaternion | nowhere; q and -q are one rotation |
| angle_axis | no turn, and full turns: any axis will do, and its rate is not determined |
| rotation_vector | full turns except zero; at half a turn two opposite vectors are one rotation |
| euler_zyx, euler_xyz | second angle +-pi/2 |
| euler_zyz, euler_zxz | second angle 0 or pi |
"""

from __future__ import annotations

from dynamics_ros.errors import InvalidArgumentError, SingularParametrizationError

from .euler_angles import EULER_XYZ, EULER_ZXZ, EULER_ZYX, EULER_ZYZ
from .exponential import (
    NEAR_SINGULAR,
    exp_left_jacobian,
    exp_right_jacobian,
    log_left_jacobian,
    log_right_jacobian,
    quaternion_exp,
    quaternion_log,
)
from .over_arrays import Parameters, Quaternion, over_arrays_method
from .rotation import (
    QUATERNION_UNITS,
    ROTATION_TOLERANCE,
    matrix_to_quaternion,
    quaternion_about,
    quaternion_conjugate,
    quaternion_product,
    quaternion_to_matrix,
    require_rotation,
)
from .rotation_parametrization import RotationParametrization, Rows
from .scalar import Scalar, atan2, cos, refuse_less, sin, sqrt, where_less
from .vector import Matrix3, Vector3

EPSILON_SQUARED = 2.0**-104
"""Square of the rounding unit: below it an imaginary part has no direction ([Kindr])."""


class DirectionCosines(RotationParametrization):
    """All nine entries of R_AB, row by row, [RD] example 2.8.2.

    xy is the cosine of the angle between x of A and y of B. Nowhere singular. Rates that leave the
    rotation matrices count by what they turn.
    """

    name = 'direction_cosines'
    parameters = ('xx', 'xy', 'xz', 'yx', 'yy', 'yz', 'zx', 'zy', 'zz')

    @over_arrays_method
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """Unit quaternion of the matrix.

        Raises:
            InvalidArgumentError: numbers that are no rotation matrix.
        """
        return matrix_to_quaternion(self._matrix(p))

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """Entries of the matrix."""
        return tuple(x for row in quaternion_to_matrix(q) for x in row)

    @over_arrays_method
    def to_matrix(self, p: Parameters) -> Matrix3:
        """The matrix itself.

        Raises:
            InvalidArgumentError: numbers that are no rotation matrix.
        """
        R = self._matrix(p)
        require_rotation(R)
        return R

    @over_arrays_method
    def from_matrix(self, R: Matrix3) -> Parameters:
        """Its entries.

        Raises:
            InvalidArgumentError: numbers that are no rotation matrix.
        """
        require_rotation(R)
        return tuple(x for row in R for x in row)

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """w = (R-dot R^T) unskewed, [RD] eq. 2.72."""
        return _half_transposed(self._turned(p))

    @over_arrays_method
    def body_rate_map(self, p: Parameters) -> Rows:
        """w = (R^T R-dot) unskewed, [Kindr]."""
        return _half_transposed(self._turned_in_B(p))

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """R-dot = w x R, column by column, [RD] eq. 2.72."""
        return [[*row] for row in self._turned(p)]

    @over_arrays_method
    def body_rate_map_inverse(self, p: Parameters) -> Rows:
        """R-dot = R skew(w), [Kindr]."""
        return [[*row] for row in self._turned_in_B(p)]

    def _matrix(self, p: Parameters) -> Matrix3:
        entries = self.counted(p)
        return Matrix3((entries[0:3], entries[3:6], entries[6:9]))

    def _turned(self, p: Parameters) -> list[Vector3]:
        """c_j x e_i, by which w in A changes entry (i, j): e_i . (w x c_j) with the column c_j."""
        R = self._matrix(p)
        return [R.column(j).cross(e) for e in Matrix3.identity() for j in range(3)]

    def _turned_in_B(self, p: Parameters) -> list[Vector3]:
        """e_j x r_i, by which w in B changes entry (i, j): r_i . (w x e_j) with the row r_i."""
        return [e.cross(row) for row in self._matrix(p) for e in Matrix3.identity()]


class QuaternionParametrization(RotationParametrization):
    """(x, y, z, w) of unit length, [RD] eq. 2.51 with the real part last. Nowhere singular."""

    name = 'quaternion'
    parameters = ('x', 'y', 'z', 'w')

    @over_arrays_method
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """The same.

        Raises:
            InvalidArgumentError: numbers that are not of unit length.
        """
        x, y, z, w = self.counted(p)
        _require_unit(self.name, x * x + y * y + z * z + w * w)
        return (x, y, z, w)

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """The same."""
        return q

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """2 H: w = 2 (q-dot q*) imaginary, [RD] eq. 2.98."""
        inverse = quaternion_conjugate(self.to_quaternion(p))
        return _imaginary_columns([quaternion_product(unit, inverse) for unit in QUATERNION_UNITS])

    @over_arrays_method
    def body_rate_map(self, p: Parameters) -> Rows:
        """2 H-bar: w = 2 (q* q-dot) imaginary, [Kindr]."""
        inverse = quaternion_conjugate(self.to_quaternion(p))
        return _imaginary_columns([quaternion_product(inverse, unit) for unit in QUATERNION_UNITS])

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """H^T / 2: q-dot = (w, 0) q / 2, [RD] eq. 2.99."""
        q = self.to_quaternion(p)
        return _half_columns([quaternion_product(unit, q) for unit in QUATERNION_UNITS[:3]])

    @over_arrays_method
    def body_rate_map_inverse(self, p: Parameters) -> Rows:
        """H-bar^T / 2: q-dot = q (w, 0) / 2, [Kindr]."""
        q = self.to_quaternion(p)
        return _half_columns([quaternion_product(q, unit) for unit in QUATERNION_UNITS[:3]])


class AngleAxis(RotationParametrization):
    """(theta, nx, ny, nz): angle [rad] about a unit axis, [RD] eq. 2.46.

    Singular at no turn: any axis will do ((1, 0, 0) is returned, as by [Kindr]) and its rate is not
    determined. At half a turn n and -n are one rotation.
    """

    name = 'angle_axis'
    parameters = ('theta', 'nx', 'ny', 'nz')

    def _parts(self, p: Parameters) -> tuple[Scalar, Vector3]:
        theta, nx, ny, nz = self.counted(p)
        n = Vector3(nx, ny, nz)
        _require_unit(self.name, n.dot(n))
        return theta, n

    @over_arrays_method
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """Unit quaternion, [RD] eq. 2.52.

        Raises:
            InvalidArgumentError: an axis that is not of unit length.
        """
        theta, n = self._parts(p)
        return quaternion_about(n, theta)

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """theta in [0, pi] and its axis, [Kindr]."""
        x, y, z, w = q
        sign = where_less(w, 0.0, -1.0, 1.0)
        squared = x * x + y * y + z * z
        none = where_less(squared, EPSILON_SQUARED, 1.0, 0.0)
        sine = sqrt(squared + none)
        scale = (1.0 - none) * sign / sine
        theta = (1.0 - none) * 2.0 * atan2(sine, w * sign)
        return theta, x * scale + none, y * scale, z * scale

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """E_R, [RD] eq. 2.102."""
        return self._map(p, 1.0)

    @over_arrays_method
    def body_rate_map(self, p: Parameters) -> Rows:
        """The same for w in B, [Kindr]."""
        return self._map(p, -1.0)

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1, [RD] eq. 2.103.

        Raises:
            SingularParametrizationError: no turn, or full turns.
        """
        return self._inverse_map(p, 1.0)

    @over_arrays_method
    def body_rate_map_inverse(self, p: Parameters) -> Rows:
        """The same for w in B, [Kindr].

        Raises:
            SingularParametrizationError: no turn, or full turns.
        """
        return self._inverse_map(p, -1.0)

    def _map(self, p: Parameters, sign: float) -> Rows:
        theta, n = self._parts(p)
        half = sin(0.5 * theta)  # 1 - cos = 2 sin^2 of the half
        N = Matrix3.identity() * sin(theta) + Matrix3.skew(n) * (sign * 2.0 * half * half)
        return [[component, *row] for component, row in zip(n, N)]

    def _inverse_map(self, p: Parameters, sign: float) -> Rows:
        theta, n = self._parts(p)
        half = sin(0.5 * theta)
        refuse_less(half * half, NEAR_SINGULAR**2, self._no_turn)
        skew = Matrix3.skew(n)
        cotangent = cos(0.5 * theta) / half  # sin / (1 - cos)
        N = (skew @ skew) * (-0.5 * cotangent) - skew * (0.5 * sign)
        return [[*n], *([*row] for row in N)]

    def _no_turn(self) -> SingularParametrizationError:
        return SingularParametrizationError(
            self.name, 'the angle is zero or a full turn, where the axis has no rate'
        )


class RotationVector(RotationParametrization):
    """Axis times angle [rad], [RD] eq. 2.47.

    `from_quaternion` returns the one of length at most pi; at pi itself two opposite vectors are
    one rotation. The rates are singular at full turns, which such a length does not reach.
    """

    name = 'rotation_vector'
    parameters = ('x', 'y', 'z')

    @over_arrays_method
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """The exponential, [RD] eq. 2.52."""
        return quaternion_exp(Vector3.of(self.counted(p)))

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """The logarithm, of length at most pi, [Kindr]."""
        return tuple(quaternion_log(q))

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """The left Jacobian of exp, [RD] eq. 2.106."""
        return _rows(exp_left_jacobian(Vector3.of(self.counted(p))))

    @over_arrays_method
    def body_rate_map(self, p: Parameters) -> Rows:
        """The right Jacobian of exp, [Kindr]."""
        return _rows(exp_right_jacobian(Vector3.of(self.counted(p))))

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """Inverse of the left Jacobian of exp, [RD] eq. 2.107.

        Raises:
            SingularParametrizationError: a full turn.
        """
        return _rows(log_left_jacobian(Vector3.of(self.counted(p))))

    @over_arrays_method
    def body_rate_map_inverse(self, p: Parameters) -> Rows:
        """Inverse of the right Jacobian of exp, [Kindr].

        Raises:
            SingularParametrizationError: a full turn.
        """
        return _rows(log_right_jacobian(Vector3.of(self.counted(p))))


def _half_transposed(rows: list[Vector3]) -> Rows:
    return [[0.5 * row[k] for row in rows] for k in range(3)]


def _imaginary_columns(columns: list[Quaternion]) -> Rows:
    return [[2.0 * column[row] for column in columns] for row in range(3)]


def _half_columns(columns: list[Quaternion]) -> Rows:
    return [[0.5 * column[row] for column in columns] for row in range(4)]


def _rows(matrix: Matrix3) -> Rows:
    return [[*row] for row in matrix]


def _require_unit(name: str, squared: Scalar) -> None:
    deviation = squared - 1.0
    refuse_less(
        -(deviation * deviation),
        -(ROTATION_TOLERANCE**2),
        lambda: InvalidArgumentError(name, 'its length is not 1', 'a unit quaternion or axis'),
    )


DIRECTION_COSINES = DirectionCosines()
"""The nine entries of the rotation matrix."""

QUATERNION = QuaternionParametrization()
"""Unit quaternion."""

ANGLE_AXIS = AngleAxis()
"""Angle and unit axis."""

ROTATION_VECTOR = RotationVector()
"""Unit axis times angle."""

ROTATIONS: dict[str, RotationParametrization] = {
    p.name: p
    for p in (
        DIRECTION_COSINES,
        QUATERNION,
        ANGLE_AXIS,
        ROTATION_VECTOR,
        EULER_ZYX,
        EULER_XYZ,
        EULER_ZYZ,
        EULER_ZXZ,
    )
}
"""Every parametrization of rotations by its name."""
