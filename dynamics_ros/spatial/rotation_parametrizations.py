# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Direction cosines, quaternion, angle-axis, rotation vector; table of all parametrizations.

| name | singular where |
|---|---|
| direction_cosines | nowhere |
| quaternion | nowhere; q and -q are the same rotation |
| angle_axis | zero and full turns: the axis is arbitrary, and its rate is not determined |
| rotation_vector | full turns except zero; at half a turn v and -v are the same rotation |
| euler_zyx, euler_xyz | second angle +-pi/2 |
| euler_zyz, euler_zxz | second angle 0 or pi |
"""

from __future__ import annotations

from dynamics_ros.errors import InvalidArgumentError, SingularParametrizationError

from .euler_angles import EULER_XYZ, EULER_ZXZ, EULER_ZYX, EULER_ZYZ
from .exponential import (
    NEAR_SINGULAR,
    exp_left_jacobian,
    log_left_jacobian,
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
"""Squared length of the imaginary part below which a quaternion counts as identity ([Kindr])."""


class DirectionCosines(RotationParametrization):
    """All nine entries of R_AB, row by row, [RD] example 2.8.2. Nowhere singular.

    xy is the cosine of the angle between the x axis of A and the y axis of B. `rate_map` projects
    rates that are not tangent to the rotation matrices: only their rotational part counts.
    """

    name = 'direction_cosines'
    parameters = ('xx', 'xy', 'xz', 'yx', 'yy', 'yz', 'zx', 'zy', 'zz')

    @over_arrays_method
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """Unit quaternion of the rotation matrix.

        Raises:
            InvalidArgumentError: the parameters are not a rotation matrix.
        """
        return matrix_to_quaternion(self._matrix(p))

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """Entries of the rotation matrix, row by row."""
        return tuple(x for row in quaternion_to_matrix(q) for x in row)

    @over_arrays_method
    def to_matrix(self, p: Parameters) -> Matrix3:
        """Rotation matrix R_AB of the nine entries.

        Raises:
            InvalidArgumentError: the parameters are not a rotation matrix.
        """
        R = self._matrix(p)
        require_rotation(R)
        return R

    @over_arrays_method
    def from_matrix(self, R: Matrix3) -> Parameters:
        """Entries of a rotation matrix, row by row.

        Raises:
            InvalidArgumentError: R is not a rotation matrix.
        """
        require_rotation(R)
        return tuple(x for row in R for x in row)

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """Map from rates of the entries to w = unskew(R-dot R^T) in A, [RD] eq. 2.72."""
        return _half_transposed(self._rate_vectors(p))

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """Map from w in A to rates of the entries: R-dot = w x R by columns, [RD] eq. 2.72."""
        return [[*row] for row in self._rate_vectors(p)]

    def _matrix(self, p: Parameters) -> Matrix3:
        entries = self.counted(p)
        return Matrix3((entries[0:3], entries[3:6], entries[6:9]))

    def _rate_vectors(self, p: Parameters) -> list[Vector3]:
        """c_j x e_i for each entry (i, j) of R, whose rate is w . (c_j x e_i) for w in A.

        The rate is e_i . (w x c_j), where c_j is column j of R.
        """
        R = self._matrix(p)
        return [R.column(j).cross(e) for e in Matrix3.identity() for j in range(3)]


class QuaternionParametrization(RotationParametrization):
    """(x, y, z, w) of unit length, [RD] eq. 2.51 with the real part last. Nowhere singular."""

    name = 'quaternion'
    parameters = ('x', 'y', 'z', 'w')

    @over_arrays_method
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """The parameters as a tuple, after a check of their length.

        Raises:
            InvalidArgumentError: the quaternion does not have unit length.
        """
        x, y, z, w = self.counted(p)
        _require_unit(self.name, x * x + y * y + z * z + w * w)
        return (x, y, z, w)

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """The quaternion itself."""
        return q

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """2 H: w in A is the imaginary part of 2 q-dot q*, [RD] eq. 2.98."""
        inverse = quaternion_conjugate(self.to_quaternion(p))
        return _imaginary_columns([quaternion_product(unit, inverse) for unit in QUATERNION_UNITS])

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """H^T / 2: q-dot = (w, 0) q / 2 for w in A, [RD] eq. 2.99."""
        q = self.to_quaternion(p)
        return _half_columns([quaternion_product(unit, q) for unit in QUATERNION_UNITS[:3]])


class AngleAxis(RotationParametrization):
    """(theta, nx, ny, nz): angle [rad] about a unit axis, [RD] eq. 2.46.

    Singular at theta = 0: the axis is arbitrary ((1, 0, 0) is returned, as by [Kindr]) and its rate
    is not determined. At half a turn n and -n are the same rotation.
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
            InvalidArgumentError: the axis does not have unit length.
        """
        theta, n = self._parts(p)
        return quaternion_about(n, theta)

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """Angle theta in [0, pi] and axis of a unit quaternion, [Kindr]."""
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
        """E_R (3 x 4), which maps rates of the parameters to w_AB in A, [RD] eq. 2.102."""
        theta, n = self._parts(p)
        half = sin(0.5 * theta)  # 1 - cos(theta) = 2 sin^2(theta / 2)
        N = Matrix3.identity() * sin(theta) + Matrix3.skew(n) * (2.0 * half * half)
        return [[component, *row] for component, row in zip(n, N)]

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1 (4 x 3), which maps w_AB in A to rates of the parameters, [RD] eq. 2.103.

        Raises:
            SingularParametrizationError: the angle is zero or a full turn.
        """
        theta, n = self._parts(p)
        half = sin(0.5 * theta)
        refuse_less(half * half, NEAR_SINGULAR**2, self._singular_angle)
        skew = Matrix3.skew(n)
        cotangent = cos(0.5 * theta) / half  # sin(theta) / (1 - cos(theta))
        N = (skew @ skew) * (-0.5 * cotangent) - skew * 0.5
        return [[*n], *([*row] for row in N)]

    def _singular_angle(self) -> SingularParametrizationError:
        return SingularParametrizationError(
            self.name, 'the angle is zero or a full turn, where the rate of the axis is undefined'
        )


class RotationVector(RotationParametrization):
    """Axis times angle [rad], [RD] eq. 2.47.

    `from_quaternion` returns the vector of length at most pi; at length pi, v and -v are the same
    rotation. The rate maps are singular at full turns, which vectors of length at most pi exclude.
    """

    name = 'rotation_vector'
    parameters = ('x', 'y', 'z')

    @over_arrays_method
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """Unit quaternion, the exponential of the vector, [RD] eq. 2.52."""
        return quaternion_exp(Vector3.of(self.counted(p)))

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """Logarithm of a unit quaternion, of length at most pi, [Kindr]."""
        return tuple(quaternion_log(q))

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """E_R, the left Jacobian of the exponential map, [RD] eq. 2.106."""
        return _rows(exp_left_jacobian(Vector3.of(self.counted(p))))

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1, the inverse of the left Jacobian of the exponential map, [RD] eq. 2.107.

        Raises:
            SingularParametrizationError: a full turn.
        """
        return _rows(log_left_jacobian(Vector3.of(self.counted(p))))


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
"""All parametrizations of rotations by name."""
