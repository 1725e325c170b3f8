# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parametrizations of rotations: conversions, operations and rates ([RD] 2.4.5, 2.5.1, [Kindr]).

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

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable

from dynamics_ros.errors import InvalidArgumentError, SingularParametrizationError

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
    quaternion_rotate,
    quaternion_rotate_inverse,
    quaternion_to_matrix,
    require_rotation,
    rotation_about,
)
from .rotation_steps import box_minus, box_plus, slerp
from .scalar import Scalar, atan2, cos, refuse_less, sin, sqrt, where_less
from .vector import Matrix3, Vector3

Rows = list[list[Scalar]]
"""Rows of a matrix of any size."""

EPSILON_SQUARED = 2.0**-104
"""Squared length of the imaginary part below which a quaternion counts as identity ([Kindr])."""

AXES = (Vector3(1.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0), Vector3(0.0, 0.0, 1.0))


class RotationParametrization(ABC):
    """Parametrization of the orientation of frame B in frame A by n numbers.

    Every method also takes arrays (..., n).

    The rate map is E_R of [RD] eq. 2.82: it maps rates of the parameters to the angular velocity
    w_AB expressed in A. The body rate map gives w_AB expressed in B. The inverse maps take an
    angular velocity to rates of the parameters; for parametrizations with a constraint, such as
    unit length, these are the rates that satisfy it.

    Parameters that are not n numbers, or violate the constraint, and matrices that are not rotation
    matrices raise an InvalidArgumentError.

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
    def to_quaternion(self, p: Parameters) -> Quaternion:
        """Unit quaternion q_AB of the parameters; q and -q are the same rotation."""
        return self._quaternion(self._counted(p))

    @over_arrays_method
    def from_quaternion(self, q: Quaternion) -> Parameters:
        """Parameters of the rotation of a unit quaternion."""
        return self._from_quaternion(q)

    @over_arrays_method
    def to_matrix(self, p: Parameters) -> Matrix3:
        """Rotation matrix R_AB of the parameters."""
        return self._matrix(self._counted(p))

    @over_arrays_method
    def from_matrix(self, R: Matrix3) -> Parameters:
        """Parameters of a rotation matrix."""
        require_rotation(R)
        return self._from_matrix(R)

    @over_arrays_method
    def to(self, p: Parameters, other: RotationParametrization) -> Parameters:
        """Parameters of the same rotation in another parametrization."""
        return other.from_quaternion(self.to_quaternion(p))

    @over_arrays_method
    def rate_map(self, p: Parameters) -> Rows:
        """E_R (3 x n), which maps rates of the parameters to w_AB in A."""
        return [[*row] for row in self._rates(self._counted(p))]

    @over_arrays_method
    def body_rate_map(self, p: Parameters) -> Rows:
        """R_AB^T E_R (3 x n), which maps rates of the parameters to w_AB in B, [Kindr]."""
        return _product(self.to_matrix(p).T, self.rate_map(p))

    @over_arrays_method
    def rate_map_inverse(self, p: Parameters) -> Rows:
        """E_R^-1 (n x 3), which maps w_AB in A to rates of the parameters.

        Raises:
            SingularParametrizationError: the angular velocity does not determine the rates.
        """
        return [[*row] for row in self._inverse_rates(self._counted(p))]

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

    # What a parametrization defines, with a checked number of parameters.

    @abstractmethod
    def _quaternion(self, p: Parameters) -> Quaternion: ...

    @abstractmethod
    def _from_quaternion(self, q: Quaternion) -> Parameters: ...

    @abstractmethod
    def _rates(self, p: Parameters) -> Iterable[Iterable[Scalar]]:
        """Rows of E_R."""

    @abstractmethod
    def _inverse_rates(self, p: Parameters) -> Iterable[Iterable[Scalar]]:
        """Rows of E_R^-1."""

    def _matrix(self, p: Parameters) -> Matrix3:
        return quaternion_to_matrix(self._quaternion(p))

    def _from_matrix(self, R: Matrix3) -> Parameters:
        return self._from_quaternion(matrix_to_quaternion(R))

    def _counted(self, p: Parameters) -> Parameters:
        if len(p) != self.size:
            expected = f'{self.size}: {", ".join(self.parameters)}'
            raise InvalidArgumentError(self.name, f'{len(p)} numbers', expected)
        return p

    def _require_unit(self, squared: Scalar) -> None:
        deviation = squared - 1.0
        problem, expected = 'its length is not 1', 'a unit quaternion or axis'
        refuse_less(
            -(deviation * deviation),
            -(ROTATION_TOLERANCE**2),
            lambda: InvalidArgumentError(self.name, problem, expected),
        )

    def __repr__(self) -> str:
        return self.name.upper()


def _product(A: Iterable[Iterable[Scalar]], B: Iterable[Iterable[Scalar]]) -> Rows:
    columns = list(zip(*B))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in A]


class DirectionCosines(RotationParametrization):
    """All nine entries of R_AB, row by row, [RD] example 2.8.2. Nowhere singular.

    xy is the cosine of the angle between the x axis of A and the y axis of B. `rate_map` projects
    rates that are not tangent to the rotation matrices: only their rotational part counts, w =
    unskew(R-dot R^T). Its inverse is R-dot = w x R by columns, [RD] eq. 2.72.
    """

    name = 'direction_cosines'
    parameters = ('xx', 'xy', 'xz', 'yx', 'yy', 'yz', 'zx', 'zy', 'zz')

    def _quaternion(self, p: Parameters) -> Quaternion:
        return matrix_to_quaternion(Matrix3((p[0:3], p[3:6], p[6:9])))

    def _from_quaternion(self, q: Quaternion) -> Parameters:
        return self._from_matrix(quaternion_to_matrix(q))

    def _matrix(self, p: Parameters) -> Matrix3:
        R = Matrix3((p[0:3], p[3:6], p[6:9]))
        require_rotation(R)
        return R

    def _from_matrix(self, R: Matrix3) -> Parameters:
        return tuple(x for row in R for x in row)

    def _rates(self, p: Parameters) -> Rows:
        return [[0.5 * x for x in row] for row in zip(*self._inverse_rates(p))]

    def _inverse_rates(self, p: Parameters) -> list[Vector3]:
        # The rate e_i . (w x c_j) of entry (i, j) is w . (c_j x e_i), where c_j is column j of R.
        R = Matrix3((p[0:3], p[3:6], p[6:9]))
        return [R.column(j).cross(e) for e in AXES for j in range(3)]


class QuaternionParametrization(RotationParametrization):
    """(x, y, z, w) of unit length, [RD] eq. 2.51 with the real part last. Nowhere singular.

    w in A is the imaginary part of 2 q-dot q*, [RD] eq. 2.98; q-dot = (w, 0) q / 2, eq. 2.99.
    """

    name = 'quaternion'
    parameters = ('x', 'y', 'z', 'w')

    def _quaternion(self, p: Parameters) -> Quaternion:
        x, y, z, w = p
        self._require_unit(x * x + y * y + z * z + w * w)
        return (x, y, z, w)

    def _from_quaternion(self, q: Quaternion) -> Parameters:
        return q

    def _rates(self, p: Parameters) -> Rows:
        inverse = quaternion_conjugate(self._quaternion(p))
        columns = [quaternion_product(unit, inverse) for unit in QUATERNION_UNITS]
        return [[2.0 * column[row] for column in columns] for row in range(3)]

    def _inverse_rates(self, p: Parameters) -> Rows:
        q = self._quaternion(p)
        columns = [quaternion_product(unit, q) for unit in QUATERNION_UNITS[:3]]
        return [[0.5 * column[row] for column in columns] for row in range(4)]


class AngleAxis(RotationParametrization):
    """(theta, nx, ny, nz): angle [rad] about a unit axis, [RD] eq. 2.46, 2.52, 2.102, 2.103.

    Conversions give theta in [0, pi]. Singular at theta = 0: the axis is arbitrary ((1, 0, 0) is
    returned, as by [Kindr]) and its rate is not determined. At half a turn n and -n are the same
    rotation.
    """

    name = 'angle_axis'
    parameters = ('theta', 'nx', 'ny', 'nz')

    def _parts(self, p: Parameters) -> tuple[Scalar, Vector3]:
        n = Vector3.of(p[1:])
        self._require_unit(n.dot(n))
        return p[0], n

    def _quaternion(self, p: Parameters) -> Quaternion:
        theta, n = self._parts(p)
        return quaternion_about(n, theta)

    def _from_quaternion(self, q: Quaternion) -> Parameters:
        x, y, z, w = q
        sign = where_less(w, 0.0, -1.0, 1.0)
        squared = x * x + y * y + z * z
        none = where_less(squared, EPSILON_SQUARED, 1.0, 0.0)
        sine = sqrt(squared + none)
        scale = (1.0 - none) * sign / sine
        theta = (1.0 - none) * 2.0 * atan2(sine, w * sign)
        return theta, x * scale + none, y * scale, z * scale

    def _rates(self, p: Parameters) -> Rows:
        theta, n = self._parts(p)
        half = sin(0.5 * theta)  # 1 - cos(theta) = 2 sin^2(theta / 2)
        N = Matrix3.identity() * sin(theta) + Matrix3.skew(n) * (2.0 * half * half)
        return [[component, *row] for component, row in zip(n, N)]

    def _inverse_rates(self, p: Parameters) -> list[Vector3]:
        theta, n = self._parts(p)
        half = sin(0.5 * theta)
        where = 'the angle is zero or a full turn, where the rate of the axis is undefined'
        refuse_less(
            half * half, NEAR_SINGULAR**2, lambda: SingularParametrizationError(self.name, where)
        )
        skew = Matrix3.skew(n)
        cotangent = cos(0.5 * theta) / half  # sin(theta) / (1 - cos(theta))
        return [n, *((skew @ skew) * (-0.5 * cotangent) - skew * 0.5)]


class RotationVector(RotationParametrization):
    """Axis times angle [rad], [RD] eq. 2.47: the exponential map and its Jacobians.

    `from_quaternion` returns the vector of length at most pi; at length pi, v and -v are the same
    rotation. The rate maps, [RD] eq. 2.106, 2.107, are singular at full turns, which vectors of
    length at most pi exclude.
    """

    name = 'rotation_vector'
    parameters = ('x', 'y', 'z')

    def _quaternion(self, p: Parameters) -> Quaternion:
        return quaternion_exp(Vector3.of(p))

    def _from_quaternion(self, q: Quaternion) -> Parameters:
        return tuple(quaternion_log(q))

    def _rates(self, p: Parameters) -> Matrix3:
        return exp_left_jacobian(Vector3.of(p))

    def _inverse_rates(self, p: Parameters) -> Matrix3:
        return log_left_jacobian(Vector3.of(p))


class EulerAngles(RotationParametrization):
    """Three angles [rad]: R_AB = R_i(first) R_j(second) R_k(third), about axes of the moving frame.

    [RD] lists the formulas of ZYX, XYZ, ZYZ and ZXZ separately: matrices in eq. 2.33, 2.37, 2.41,
    2.44, angles in eq. 2.35, 2.39, 2.42, 2.45, rates in eq. 2.86 to 2.93. Here they are derived
    from the three axes.

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
        i, j, _ = self._axes = tuple('xyz'.index(axis) for axis in axes)
        self._units = tuple(AXES[axis] for axis in self._axes)
        self._proper = repeated
        # The third axis m besides i and j; the sign is +1 if (i, j, m) is right-handed, else -1.
        self._completing = 3 - i - j
        self._sign = 1.0 if (j - i) % 3 == 1 else -1.0

    def _quaternion(self, p: Parameters) -> Quaternion:
        a, b, c = map(quaternion_about, self._units, p)
        return quaternion_product(quaternion_product(a, b), c)

    def _from_quaternion(self, q: Quaternion) -> Parameters:
        return self._from_matrix(quaternion_to_matrix(q))

    def _matrix(self, p: Parameters) -> Matrix3:
        a, b, c = map(rotation_about, self._units, p)
        return a @ b @ c

    def _from_matrix(self, R: Matrix3) -> Parameters:
        # The third angle is computed from R_i(first)^T R instead of R. It therefore fits the
        # computed first angle, and the three angles reproduce R also at a singularity.
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
        third = atan2(sine, row[j])
        # Angles of [-pi, pi] in [-pi, pi).
        first, third = (where_less(x, math.pi, x, -math.pi) for x in (first, third))
        return first, second, third

    def _rates(self, p: Parameters) -> Iterable[Iterable[Scalar]]:
        return zip(*self._axes_in_A(p))

    def _inverse_rates(self, p: Parameters) -> list[Vector3]:
        # The second of the three unit columns of E_R is orthogonal to both others.
        a, b, c = self._axes_in_A(p)
        normal = b.cross(c)
        determinant = a.dot(normal)
        where = '0 or pi' if self._proper else '+-pi/2'
        reason = f'the second angle is {where}, where the first and third axis are parallel'
        refuse_less(
            determinant * determinant,
            NEAR_SINGULAR**2,
            lambda: SingularParametrizationError(self.name, f'{reason}; use a quaternion'),
        )
        scale = 1.0 / determinant
        return [normal * scale, b, a.cross(b) * scale]

    def _axes_in_A(self, p: Parameters) -> tuple[Vector3, Vector3, Vector3]:
        i, j, k = self._units
        R_i, R_j = rotation_about(i, p[0]), rotation_about(j, p[1])
        return i, R_i @ j, R_i @ (R_j @ k)


DIRECTION_COSINES = DirectionCosines()
"""The nine entries of the rotation matrix."""

QUATERNION = QuaternionParametrization()
"""Unit quaternion."""

ANGLE_AXIS = AngleAxis()
"""Angle and unit axis."""

ROTATION_VECTOR = RotationVector()
"""Unit axis times angle."""

EULER_ZYX = EulerAngles('zyx')
"""Yaw, pitch, roll: turns about z, the new y, the new x."""

EULER_XYZ = EulerAngles('xyz')
"""Turns about x, the new y, the new z (Cardan angles)."""

EULER_ZYZ = EulerAngles('zyz')
"""Turns about z, the new y, the new z."""

EULER_ZXZ = EulerAngles('zxz')
"""Turns about z, the new x, the new z."""

ROTATIONS: dict[str, RotationParametrization] = {
    p.name: p
    for p in (
        *(DIRECTION_COSINES, QUATERNION, ANGLE_AXIS, ROTATION_VECTOR),
        *(EULER_ZYX, EULER_XYZ, EULER_ZYZ, EULER_ZXZ),
    )
}
"""All parametrizations of rotations by name."""
