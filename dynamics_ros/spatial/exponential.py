# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The exponential map of SO(3), its inverse and their Jacobians ([Kindr], [RBM], [RD] 2.5.1).

A rotation vector [rad] is axis times angle. The closed forms are 0/0 at zero and lose digits near
zero, so their Taylor series are used there; values and derivatives are accurate at zero, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynamics_ros.errors import SingularParametrizationError

from .over_arrays import Quaternion, over_arrays
from .rotation import matrix_to_quaternion
from .scalar import Scalar, atan2, cos, refuse_less, sin, sqrt, where_less
from .vector import Matrix3, Vector3

SMALL_ANGLE_SQUARED = 0.25
"""Squared angle [rad^2] below which series are used; nine terms reach double precision there."""

QUATERNION_NEAR_IDENTITY = 1e-8
"""|imaginary part|^2 below which the logarithm uses a series; the next term is below 2e-17."""

FULL_TURN = 2.0 * math.pi

NEAR_SINGULAR = 1e-8
"""Sine below which a parametrization counts as singular; rates would keep at most 8 digits."""


@over_arrays
def quaternion_exp(phi: Vector3) -> Quaternion:
    """Unit quaternion of a rotation vector [rad], [RD] eq. 2.52, [Kindr] exponential map."""
    half = phi * 0.5
    squared = half.dot(half)
    v = half * _sine_ratio(squared)
    return (v.x, v.y, v.z, _cosine(squared))


@over_arrays
def quaternion_log(q: Quaternion) -> Vector3:
    """Rotation vector [rad] of a unit quaternion, of length at most pi, [Kindr] logarithmic map.

    q and -q are the same rotation and give the same vector. A rotation by exactly pi has two
    vectors of opposite sign; the one in the direction of the imaginary part is returned.
    """
    x, y, z, w = q
    squared = x * x + y * y + z * z
    # q and -q are the same rotation; the sign with w >= 0 gives the angle of at most pi.
    sign = where_less(w, 0.0, -1.0, 1.0)
    near = where_less(squared, QUATERNION_NEAR_IDENTITY, 1.0, 0.0)
    sine = sqrt(squared + near)
    far_scale = 2.0 * atan2(sine, w * sign) / sine
    near_scale = 2.0 + squared * (1.0 / 3.0)  # 2 asin(s) / s
    scale = sign * where_less(squared, QUATERNION_NEAR_IDENTITY, near_scale, far_scale)
    return Vector3(x * scale, y * scale, z * scale)


def exp_coefficients(squared: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """sin(t)/t, (1 - cos t)/t^2, (t - sin t)/t^3 for t^2 = ``squared``, accurate near zero, too."""
    sine_ratio = _sine_ratio(squared)
    half_ratio = _sine_ratio(squared * 0.25)
    # 1 - cos t = 2 sin^2(t/2) has no cancellation; t - sin t has, so the series is used near zero.
    far = (1.0 - sine_ratio) / where_less(squared, SMALL_ANGLE_SQUARED, 1.0, squared)
    near = _series(squared, first=6.0, start=3)
    third = where_less(squared, SMALL_ANGLE_SQUARED, near, far)
    return sine_ratio, 0.5 * half_ratio * half_ratio, third


@over_arrays
def exp_matrix(phi: Vector3) -> Matrix3:
    """Rotation matrix of a rotation vector [rad]: Rodrigues' formula, [RBM], [Kindr]."""
    a, b, _ = exp_coefficients(phi.dot(phi))
    skew = Matrix3.skew(phi)
    return Matrix3.identity() + skew * a + (skew @ skew) * b


@over_arrays
def log_matrix(R: Matrix3) -> Vector3:
    """Rotation vector [rad] of a rotation matrix, of length at most pi, [RD] eq. 2.49, 2.50.

    A rotation by exactly pi has two vectors; `quaternion_log` describes which one is returned.

    Raises:
        InvalidArgumentError: R is not a rotation matrix.
    """
    return quaternion_log(matrix_to_quaternion(R))


@over_arrays
def exp_left_jacobian(phi: Vector3) -> Matrix3:
    """Left Jacobian of exp: exp(phi + d) = exp(J d) exp(phi) to first order, [Kindr] Gamma.

    It takes the rate of a rotation vector to the angular velocity in A, [RD] eq. 2.106.
    """
    _, b, c = exp_coefficients(phi.dot(phi))
    skew = Matrix3.skew(phi)
    return Matrix3.identity() + skew * b + (skew @ skew) * c


@over_arrays
def exp_right_jacobian(phi: Vector3) -> Matrix3:
    """Right Jacobian of exp: exp(phi + d) = exp(phi) exp(J d) to first order.

    It takes the rate of a rotation vector to the angular velocity in B ([Kindr]).
    """
    return exp_left_jacobian(-phi)


@over_arrays
def log_left_jacobian(phi: Vector3) -> Matrix3:
    """Inverse of the left Jacobian of exp, for |phi| < 2 pi, [Kindr], [RD] eq. 2.107.

    Raises:
        SingularParametrizationError: |phi| is 2 pi, where the left Jacobian has no inverse.
    """
    squared = phi.dot(phi)
    a, b, _ = exp_coefficients(squared)
    # b = 2 sin^2(t/2) / t^2 is 1/2 at zero and 0 at full turns.
    refuse_less(b, 2.0 * (NEAR_SINGULAR / FULL_TURN) ** 2, _full_turn)
    # 1/t^2 (1 - a / (2 b)) loses digits near zero, so the series is used there.
    far = (1.0 - 0.5 * a / b) / where_less(squared, SMALL_ANGLE_SQUARED, 1.0, squared)
    near = _log_series(squared)
    skew = Matrix3.skew(phi)
    coefficient = where_less(squared, SMALL_ANGLE_SQUARED, near, far)
    return Matrix3.identity() - skew * 0.5 + (skew @ skew) * coefficient


@over_arrays
def log_right_jacobian(phi: Vector3) -> Matrix3:
    """Inverse of the right Jacobian of exp, for |phi| < 2 pi, [Kindr].

    Raises:
        SingularParametrizationError: |phi| is 2 pi, where the right Jacobian has no inverse.
    """
    return log_left_jacobian(-phi)


def _series(squared: Scalar, first: float, start: int) -> Scalar:
    """Sum over k of (-t^2)^k / (first (start+1)(start+2)...), nine terms by Horner's rule."""
    terms = [1.0 / first]
    for n in range(start, start + 16, 2):
        terms.append(-terms[-1] / ((n + 1) * (n + 2)))
    return _polynomial(terms, squared)


def _log_series(squared: Scalar) -> Scalar:
    """1/12 + t^2/720 + t^4/30240 + ...; coefficients |B_2k| / (2k)! with Bernoulli numbers B."""
    denominators = (12.0, 720.0, 30240.0, 1209600.0, 47900160.0)
    terms = [1.0 / x for x in denominators]
    terms += [691.0 / 1307674368000.0, 1.0 / 74724249600.0, 3617.0 / 10670622842880000.0]
    return _polynomial(terms, squared)


def _polynomial(terms: Sequence[float], x: Scalar) -> Scalar:
    """Sum over k of terms[k] x^k, by Horner's rule."""
    result: Scalar = terms[-1]
    for term in reversed(terms[:-1]):
        result = result * x + term
    return result


def _sine_ratio(squared: Scalar) -> Scalar:
    """sin(t)/t for t^2 = ``squared``; a series near zero avoids 0/0."""
    near = _series(squared, first=1.0, start=1)
    t = sqrt(where_less(squared, SMALL_ANGLE_SQUARED, 1.0, squared))
    return where_less(squared, SMALL_ANGLE_SQUARED, near, sin(t) / t)


def _cosine(squared: Scalar) -> Scalar:
    """cos(t) for t^2 = ``squared``; a series near zero makes derivatives finite there."""
    near = _series(squared, first=1.0, start=0)
    t = sqrt(where_less(squared, SMALL_ANGLE_SQUARED, 1.0, squared))
    return where_less(squared, SMALL_ANGLE_SQUARED, near, cos(t))


def _full_turn() -> SingularParametrizationError:
    return SingularParametrizationError(
        'rotation_vector', 'its length is a full turn; wrap the length to at most pi first'
    )
