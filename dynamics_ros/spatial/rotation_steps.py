# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Box-plus and box-minus, integration, differentiation and interpolation on SO(3).

[Kindr] defines these operations for every representation. Here they are defined for quaternions;
`RotationParametrization` applies them to the other representations. A step is a rotation vector
expressed in the fixed frame and multiplies from the left: q [+] v = exp(v) q.
"""

from __future__ import annotations

from .exponential import quaternion_exp, quaternion_log
from .over_arrays import Quaternion, over_arrays
from .rotation import quaternion_conjugate, quaternion_product
from .scalar import Scalar
from .vector import Vector3


@over_arrays
def box_plus(q: Quaternion, v: Vector3) -> Quaternion:
    """exp(v) q: the rotation q followed by the rotation vector v [rad], in A, [Kindr] 8.

    Args:
        q: q_AB, the orientation of B in the fixed frame A.
        v: rotation vector expressed in A [rad].
    """
    return quaternion_product(quaternion_exp(v), q)


@over_arrays
def box_minus(a: Quaternion, b: Quaternion) -> Vector3:
    """Rotation vector v [rad], expressed in the fixed frame, with a = b [+] v, [Kindr] 9.

    Its length is at most pi. If a and b are half a turn apart, v and -v are both solutions, and one
    of them is returned.
    """
    return quaternion_log(quaternion_product(a, quaternion_conjugate(b)))


@over_arrays
def integrate_rotation(q_AB: Quaternion, w: Vector3, duration: Scalar) -> Quaternion:
    """Orientation q_AB after a motion with a constant angular velocity in A, [Kindr] 10.

    Args:
        q_AB: initial orientation of B in A.
        w: angular velocity of B with respect to A, expressed in A [rad/s].
        duration: of the motion [s].
    """
    return box_plus(q_AB, w * duration)


@over_arrays
def integrate_body_rotation(q_AB: Quaternion, w: Vector3, duration: Scalar) -> Quaternion:
    """Orientation q_AB after a motion with a constant angular velocity in B, [Kindr] 10.

    Args:
        q_AB: initial orientation of B in A.
        w: angular velocity of B with respect to A, expressed in B [rad/s].
        duration: of the motion [s].
    """
    return quaternion_conjugate(box_plus(quaternion_conjugate(q_AB), w * -duration))


@over_arrays
def differentiate_rotation(before: Quaternion, after: Quaternion, duration: Scalar) -> Vector3:
    """Constant angular velocity w_AB in A [rad/s] of a motion between two q_AB, [Kindr] 11.

    Args:
        before: q_AB at the start.
        after: q_AB at the end.
        duration: of the motion [s].
    """
    return box_minus(after, before) * (1.0 / duration)


@over_arrays
def differentiate_body_rotation(before: Quaternion, after: Quaternion, duration: Scalar) -> Vector3:
    """Constant angular velocity w_AB in B [rad/s] of a motion between two q_AB, [Kindr] 11.

    Args:
        before: q_AB at the start.
        after: q_AB at the end.
        duration: of the motion [s].
    """
    step = box_minus(quaternion_conjugate(after), quaternion_conjugate(before))
    return step * (-1.0 / duration)


@over_arrays
def slerp(a: Quaternion, b: Quaternion, t: Scalar) -> Quaternion:
    """Spherical interpolation from a (t = 0) to b (t = 1) by the smaller angle, [Kindr] 12.

    If a and b are half a turn apart, both directions are equally long; `quaternion_log` describes
    which one is taken.
    """
    return box_plus(a, box_minus(b, a) * t)
