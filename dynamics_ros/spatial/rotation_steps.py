# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steps on SO(3) with vectors: box-plus and box-minus, integration, differentiation, interpolation.

[Kindr] defines them for every representation; here they stand for quaternions, which
`RotationParametrization` lends to all. A step is a rotation vector expressed in the fixed frame,
multiplied from the left: q [+] v = exp(v) q.
"""

from __future__ import annotations

from .exponential import quaternion_exp, quaternion_log
from .over_arrays import Quaternion, over_arrays
from .rotation import quaternion_conjugate, quaternion_product
from .scalar import Scalar
from .vector import Vector3


@over_arrays
def box_plus(q: Quaternion, v: Vector3) -> Quaternion:
    """q turned by the rotation vector v [rad] of the fixed frame, exp(v) q, [Kindr] 8."""
    return quaternion_product(quaternion_exp(v), q)


@over_arrays
def box_minus(a: Quaternion, b: Quaternion) -> Vector3:
    """The rotation vector v [rad] of the fixed frame with a = b [+] v, [Kindr] 9.

    Of length at most pi; half a turn apart two opposite vectors are equally right.
    """
    return quaternion_log(quaternion_product(a, quaternion_conjugate(b)))


@over_arrays
def integrate_rotation(q_AB: Quaternion, w: Vector3, duration: Scalar) -> Quaternion:
    """Orientation after a time at the constant angular velocity w_AB in A, [Kindr] 10.

    Args:
        q_AB: orientation of B in A.
        w: angular velocity of B with respect to A, expressed in A [rad/s].
        duration: s.
    """
    return box_plus(q_AB, w * duration)


@over_arrays
def integrate_body_rotation(q_AB: Quaternion, w: Vector3, duration: Scalar) -> Quaternion:
    """Orientation after a time at the constant angular velocity w_AB in B, [Kindr] 10.

    Args:
        q_AB: orientation of B in A.
        w: angular velocity of B with respect to A, expressed in B [rad/s].
        duration: s.
    """
    return quaternion_conjugate(box_plus(quaternion_conjugate(q_AB), w * -duration))


@over_arrays
def differentiate_rotation(before: Quaternion, after: Quaternion, duration: Scalar) -> Vector3:
    """Constant angular velocity in A [rad/s] that takes one q_AB to another, [Kindr] 11."""
    return box_minus(after, before) * (1.0 / duration)


@over_arrays
def differentiate_body_rotation(before: Quaternion, after: Quaternion, duration: Scalar) -> Vector3:
    """Constant angular velocity in B [rad/s] that takes one q_AB to another, [Kindr] 11."""
    step = box_minus(quaternion_conjugate(after), quaternion_conjugate(before))
    return step * (-1.0 / duration)


@over_arrays
def slerp(a: Quaternion, b: Quaternion, t: Scalar) -> Quaternion:
    """Spherical interpolation the shorter way, a at t = 0 and b at t = 1, [Kindr] 12.

    Half a turn apart both ways are equally short; see `quaternion_log` for the one taken.
    """
    return box_plus(a, box_minus(b, a) * t)
