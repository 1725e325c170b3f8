# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rotations as matrices and quaternions: conversions, composition, action, rates ([RD] 2.4, 2.5).

Quaternions are (x, y, z, w) and of unit length. As a passive rotation, R_AB or q_AB maps
coordinates in B to coordinates in A, ``A_u = R_AB B_u`` ([RD] eq. 2.24). As an active rotation, the
same numbers rotate a vector within A, ``A_v = R A_u`` ([RD] eq. 2.25). The passive rotation of
[Kindr] maps coordinates in the fixed frame to coordinates in the rotated frame, which is the
inverse.
"""

from __future__ import annotations

from dynamics_ros.errors import InvalidArgumentError

from .over_arrays import Quaternion, over_arrays
from .scalar import Scalar, cos, refuse_less, sin, sqrt, where_less
from .vector import Matrix3, Vector3

ROTATION_TOLERANCE = 1e-6
"""Largest accepted error of orthogonality of a matrix, and of a squared length of 1."""

IDENTITY: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)
"""Quaternion of the identity rotation."""

QUATERNION_UNITS: tuple[Quaternion, ...] = (
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)


@over_arrays
def rotation_about(axis: Vector3, angle: Scalar) -> Matrix3:
    """Rotation matrix about a constant unit axis, [RD] eq. 2.48.

    In the form k k^T + c (1 - k k^T) + s k_x, the trace of an axis along x, y or z is reduced to
    the elementary rotation ([RD] eq. 2.26 to 2.28).

    Args:
        axis: unit vector, with the same coordinates in both frames.
        angle: [rad].
    """
    c, s = cos(angle), sin(angle)
    k = Matrix3.outer(axis, axis)
    return k + (Matrix3.identity() - k) * c + Matrix3.skew(axis) * s


@over_arrays
def quaternion_about(axis: Vector3, angle: Scalar) -> Quaternion:
    """Unit quaternion of a rotation about a unit axis, [RD] eq. 2.52.

    Args:
        axis: unit vector, with the same coordinates in both frames.
        angle: [rad].
    """
    v = axis * sin(0.5 * angle)
    return (v.x, v.y, v.z, cos(0.5 * angle))


@over_arrays
def quaternion_to_matrix(q: Quaternion) -> Matrix3:
    """Rotation matrix of a unit quaternion (x, y, z, w), [RD] eq. 2.54."""
    x, y, z, w = q
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    return Matrix3(
        (
            (1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy)),
            (2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)),
            (2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)),
        )
    )


@over_arrays
def matrix_to_quaternion(R: Matrix3) -> Quaternion:
    """Unit quaternion of a rotation matrix, with w >= 0.

    [RD] eq. 2.55 takes four square roots and the signs of differences, which loses half the digits
    of small components. The matrix 4 q q^T, by contrast, is linear in R, and its longest column,
    scaled to unit length, is q.

    Raises:
        InvalidArgumentError: R is not a rotation matrix.
    """
    require_rotation(R)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    columns = (
        (1.0 + xx - yy - zz, xy + yx, xz + zx, zy - yz),
        (xy + yx, 1.0 - xx + yy - zz, yz + zy, xz - zx),
        (xz + zx, yz + zy, 1.0 - xx - yy + zz, yx - xy),
    )
    longest: Quaternion = (zy - yz, xz - zx, yx - xy, 1.0 + xx + yy + zz)
    size = longest[3]
    for i, column in enumerate(columns):
        x, y, z, w = (where_less(size, column[i], a, b) for a, b in zip(column, longest))
        longest, size = (x, y, z, w), where_less(size, column[i], column[i], size)
    sign = where_less(longest[3], 0.0, -1.0, 1.0)
    x, y, z, w = quaternion_normalized(longest)
    return (x * sign, y * sign, z * sign, w * sign)


@over_arrays
def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Hamilton product a b: the quaternion of R_AB R_BC for a = q_AB, b = q_BC, [RD] eq. 2.57."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


@over_arrays
def quaternion_left_matrix(a: Quaternion) -> list[list[Scalar]]:
    """The 4x4 matrix M_l(a) with a b = M_l(a) b, both ordered (x, y, z, w), [RD] eq. 2.59."""
    return [list(row) for row in zip(*(quaternion_product(a, unit) for unit in QUATERNION_UNITS))]


@over_arrays
def quaternion_right_matrix(b: Quaternion) -> list[list[Scalar]]:
    """The 4x4 matrix M_r(b) with a b = M_r(b) a, both ordered (x, y, z, w), [RD] eq. 2.61."""
    return [list(row) for row in zip(*(quaternion_product(unit, b) for unit in QUATERNION_UNITS))]


@over_arrays
def quaternion_conjugate(q: Quaternion) -> Quaternion:
    """Conjugate of a quaternion, the inverse rotation, [RD] eq. 2.56."""
    x, y, z, w = q
    return (-x, -y, -z, w)


@over_arrays
def quaternion_normalized(q: Quaternion) -> Quaternion:
    """The quaternion scaled to unit length.

    Raises:
        InvalidArgumentError: the length of the quaternion is zero.
    """
    x, y, z, w = q
    squared = x * x + y * y + z * z + w * w
    refuse_less(squared, _SMALLEST_SQUARE, _zero_quaternion)
    scale = 1.0 / sqrt(squared)
    return (x * scale, y * scale, z * scale, w * scale)


@over_arrays
def quaternion_rotate(q: Quaternion, v: Vector3) -> Vector3:
    """R_AB v: maps coordinates in B to A (passive), or rotates v in A (active), [RD] eq. 2.63."""
    imaginary = Vector3(q[0], q[1], q[2])
    turned = imaginary.cross(v) * 2.0
    return v + turned * q[3] + imaginary.cross(turned)


@over_arrays
def quaternion_rotate_inverse(q: Quaternion, v: Vector3) -> Vector3:
    """R_AB^T v: maps coordinates in A to B, the passive rotation of [Kindr]."""
    return quaternion_rotate(quaternion_conjugate(q), v)


@over_arrays
def matrix_rate(R: Matrix3, angular_velocity: Vector3) -> Matrix3:
    """Time derivative of R_AB for the angular velocity w_AB expressed in A, [RD] eq. 2.72.

    Args:
        R: rotation matrix R_AB.
        angular_velocity: w_AB in A [rad/s].
    """
    return Matrix3([[*column] for column in (angular_velocity.cross(c) for c in R.T)]).T


@over_arrays
def angular_velocity(R: Matrix3, R_rate: Matrix3) -> Vector3:
    """Angular velocity w_AB in A [rad/s], from R_AB and its time derivative, [RD] eq. 2.72."""
    return (R_rate @ R.T).unskew()


@over_arrays
def body_matrix_rate(R: Matrix3, angular_velocity: Vector3) -> Matrix3:
    """Time derivative of R_AB for the angular velocity w_AB expressed in B, [Kindr].

    Args:
        R: rotation matrix R_AB.
        angular_velocity: w_AB in B [rad/s].
    """
    return R @ Matrix3.skew(angular_velocity)


@over_arrays
def body_angular_velocity(R: Matrix3, R_rate: Matrix3) -> Vector3:
    """Angular velocity w_AB in B [rad/s], from R_AB and its time derivative, [Kindr]."""
    return (R.T @ R_rate).unskew()


def require_rotation(R: Matrix3) -> None:
    """Check that a matrix of numbers is a rotation matrix; symbolic matrices are not checked.

    Raises:
        InvalidArgumentError: the rows are not orthogonal unit vectors, or are left-handed.
    """
    x, y, z = R
    lengths = Vector3(x.dot(x) - 1.0, y.dot(y) - 1.0, z.dot(z) - 1.0)
    angles = Vector3(y.dot(z), z.dot(x), x.dot(y))
    squared = lengths.dot(lengths) + 2.0 * angles.dot(angles)
    refuse_less(-squared, -(ROTATION_TOLERANCE**2), _no_rotation)
    refuse_less(R.determinant(), 0.0, _no_rotation)


# Squared length below which a quaternion counts as zero; far smaller squares would underflow.
_SMALLEST_SQUARE = 1e-300


def _zero_quaternion() -> InvalidArgumentError:
    return InvalidArgumentError('quaternion', 'its length is zero', 'a quaternion with a direction')


def _no_rotation() -> InvalidArgumentError:
    return InvalidArgumentError(
        'matrix', 'its rows are no right-handed unit axes', 'a rotation matrix'
    )
