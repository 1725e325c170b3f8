"""Rotations SO(3) over any scalar: about an axis, from and to quaternions, exp and log.

Quaternions are (x, y, z, w) and of unit length; R_AB takes coordinates in B to coordinates in A.
"""

from __future__ import annotations

from .scalar import Scalar, atan2, cos, sin, sqrt, where_less
from .vector import Matrix3, Vector3

Quaternion = tuple[Scalar, Scalar, Scalar, Scalar]

SMALL_ANGLE_SQUARED = 0.25
"""Below this squared angle the series are used: nine terms are exact to double precision there."""

QUATERNION_NEAR_IDENTITY = 1e-8
"""Below this |imaginary part|^2 the logarithm uses a series whose next term is below 2e-17."""


def rotation_about(axis: Vector3, angle: Scalar) -> Matrix3:
    """Rotation matrix about a constant unit axis, [RD] eq. 2.48.

    Written as k k^T + c (1 - k k^T) + s k_x so that an axis along x, y or z folds to its
    elementary rotation ([RD] 2.4.3).

    Args:
        axis: unit vector, the same in both frames.
        angle: rad.
    """
    c, s = cos(angle), sin(angle)
    k = Matrix3.outer(axis, axis)
    return k + (Matrix3.identity() - k) * c + Matrix3.skew(axis) * s


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


def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Hamilton product: the rotation R_AB R_BC, [RD] eq. 2.57."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def quaternion_conjugate(q: Quaternion) -> Quaternion:
    """The inverse rotation, [RD] eq. 2.56."""
    x, y, z, w = q
    return (-x, -y, -z, w)


def quaternion_normalized(q: Quaternion) -> Quaternion:
    """The quaternion scaled to unit length."""
    x, y, z, w = q
    scale = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    return (x * scale, y * scale, z * scale, w * scale)


def quaternion_exp(phi: Vector3) -> Quaternion:
    """Unit quaternion of a rotation vector [rad], [RD] eq. 2.52, [Kindr] exponential map."""
    half = phi * 0.5
    squared = half.dot(half)
    v = half * _sine_ratio(squared)
    return (v.x, v.y, v.z, _cosine(squared))


def quaternion_log(q: Quaternion) -> Vector3:
    """Rotation vector [rad] of a unit quaternion, of length at most pi, [Kindr] logarithmic map.

    q and -q are one rotation and give one vector; at a turn of exactly pi the two vectors of
    opposite sign are equally right and the sign of the imaginary part decides.
    """
    x, y, z, w = q
    squared = x * x + y * y + z * z
    # -q turns the same way: the sign that makes w positive gives the shorter turn.
    sign = where_less(w, 0.0, -1.0, 1.0)
    near = where_less(squared, QUATERNION_NEAR_IDENTITY, 1.0, 0.0)
    sine = sqrt(squared + near)
    far_scale = 2.0 * atan2(sine, w * sign) / sine
    near_scale = 2.0 + squared * (1.0 / 3.0)  # 2 asin(s) / s
    scale = sign * where_less(squared, QUATERNION_NEAR_IDENTITY, near_scale, far_scale)
    return Vector3(x * scale, y * scale, z * scale)


def exp_coefficients(squared: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """sin(t)/t, (1 - cos t)/t^2, (t - sin t)/t^3 for t^2 = ``squared``, exact near zero too."""
    sine_ratio = _sine_ratio(squared)
    half_ratio = _sine_ratio(squared * 0.25)
    # 1 - cos t = 2 sin^2(t/2) has no cancellation; t - sin t has, below the switch to the series.
    far = (1.0 - sine_ratio) / where_less(squared, SMALL_ANGLE_SQUARED, 1.0, squared)
    near = _series(squared, first=6.0, start=3)
    third = where_less(squared, SMALL_ANGLE_SQUARED, near, far)
    return sine_ratio, 0.5 * half_ratio * half_ratio, third


def exp_matrix(phi: Vector3) -> Matrix3:
    """Rotation matrix of a rotation vector [rad]: Rodrigues' formula, [RBM], [Kindr]."""
    a, b, _ = exp_coefficients(phi.dot(phi))
    skew = Matrix3.skew(phi)
    return Matrix3.identity() + skew * a + (skew @ skew) * b


def exp_left_jacobian(phi: Vector3) -> Matrix3:
    """Left Jacobian of exp: exp(phi + d) = exp(J d) exp(phi) to first order, [Kindr]."""
    _, b, c = exp_coefficients(phi.dot(phi))
    skew = Matrix3.skew(phi)
    return Matrix3.identity() + skew * b + (skew @ skew) * c


def log_left_jacobian(phi: Vector3) -> Matrix3:
    """Inverse of the left Jacobian of exp, for |phi| < 2 pi, [Kindr]."""
    a, b, _ = exp_coefficients(phi.dot(phi))
    squared = phi.dot(phi)
    # 1/t^2 (1 - a / (2 b)) loses digits near zero, where its series is used.
    far = (1.0 - 0.5 * a / b) / where_less(squared, SMALL_ANGLE_SQUARED, 1.0, squared)
    near = _log_series(squared)
    skew = Matrix3.skew(phi)
    coefficient = where_less(squared, SMALL_ANGLE_SQUARED, near, far)
    return Matrix3.identity() - skew * 0.5 + (skew @ skew) * coefficient


def _series(squared: Scalar, first: float, start: int) -> Scalar:
    """Sum over k of (-t^2)^k / (first (start+1)(start+2)...), nine terms by Horner's rule."""
    terms = [1.0 / first]
    n = start
    for _ in range(8):
        terms.append(-terms[-1] / ((n + 1) * (n + 2)))
        n += 2
    result: Scalar = terms[-1]
    for term in reversed(terms[:-1]):
        result = result * squared + term
    return result


def _log_series(squared: Scalar) -> Scalar:
    """1/12 + t^2/720 + t^4/30240 + ...: the Bernoulli numbers |B_2k| / (2k)!."""
    terms = (
        1.0 / 12.0,
        1.0 / 720.0,
        1.0 / 30240.0,
        1.0 / 1209600.0,
        1.0 / 47900160.0,
        691.0 / 1307674368000.0,
        1.0 / 74724249600.0,
        3617.0 / 10670622842880000.0,
    )
    result: Scalar = terms[-1]
    for term in reversed(terms[:-1]):
        result = result * squared + term
    return result


def _sine_ratio(squared: Scalar) -> Scalar:
    """sin(t)/t for t^2 = ``squared``; the square root alone would fail at zero."""
    near = _series(squared, first=1.0, start=1)
    t = sqrt(where_less(squared, SMALL_ANGLE_SQUARED, 1.0, squared))
    return where_less(squared, SMALL_ANGLE_SQUARED, near, sin(t) / t)


def _cosine(squared: Scalar) -> Scalar:
    """cos(t) for t^2 = ``squared``; smooth at zero, so that derivatives are right there."""
    near = _series(squared, first=1.0, start=0)
    t = sqrt(where_less(squared, SMALL_ANGLE_SQUARED, 1.0, squared))
    return where_less(squared, SMALL_ANGLE_SQUARED, near, cos(t))
