# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Velocity and acceleration of points on moving bodies and in moving frames ([RD] 2.7, [Kindr])."""

from __future__ import annotations

from .over_arrays import over_arrays
from .vector import Vector3


@over_arrays
def point_velocity(v_B: Vector3, w: Vector3, r_BP: Vector3) -> Vector3:
    """Velocity [m/s] of a point P fixed to a body, all in one frame, [RD] eq. 2.121.

    Args:
        v_B: velocity of another point B of the body [m/s].
        w: angular velocity of the body [rad/s].
        r_BP: from B to P [m].
    """
    return v_B + w.cross(r_BP)


@over_arrays
def point_acceleration(a_B: Vector3, w: Vector3, w_rate: Vector3, r_BP: Vector3) -> Vector3:
    """Acceleration [m/s^2] of a point P fixed to a body, all in one frame, [RD] eq. 2.122.

    Args:
        a_B: acceleration of another point B of the body [m/s^2].
        w: angular velocity of the body [rad/s].
        w_rate: angular acceleration of the body [rad/s^2].
        r_BP: from B to P [m].
    """
    return a_B + w_rate.cross(r_BP) + w.cross(w.cross(r_BP))


@over_arrays
def moving_point_velocity(v_B: Vector3, w: Vector3, r_BP: Vector3, r_rate: Vector3) -> Vector3:
    """Velocity [m/s] of a point P that moves in a moving body, all in one frame, [RD] eq. 2.118.

    Args:
        v_B: velocity of a point B of the body [m/s].
        w: angular velocity of the body [rad/s].
        r_BP: from B to P [m].
        r_rate: velocity of P relative to the body [m/s].
    """
    return point_velocity(v_B, w, r_BP) + r_rate


@over_arrays
def moving_point_acceleration(
    a_B: Vector3,
    w: Vector3,
    w_rate: Vector3,
    r_BP: Vector3,
    r_rate: Vector3,
    r_rate_2: Vector3,
) -> Vector3:
    """Acceleration [m/s^2] of a point P that moves in a moving body, all in one frame.

    The time derivative of [RD] eq. 2.118: the acceleration of the body-fixed point at P, the
    Coriolis acceleration 2 w x r_rate, and the acceleration of P relative to the body.

    Args:
        a_B: acceleration of a point B of the body [m/s^2].
        w: angular velocity of the body [rad/s].
        w_rate: angular acceleration of the body [rad/s^2].
        r_BP: from B to P [m].
        r_rate: velocity of P relative to the body [m/s].
        r_rate_2: acceleration of P relative to the body [m/s^2].
    """
    resting = point_acceleration(a_B, w, w_rate, r_BP)
    return resting + w.cross(r_rate) * 2.0 + r_rate_2


@over_arrays
def euler_derivative(r: Vector3, r_rate: Vector3, w: Vector3) -> Vector3:
    """Absolute time derivative of a vector, expressed in the moving frame, [RD] eq. 2.129.

    Args:
        r: coordinates of the vector in the moving frame.
        r_rate: time derivative of these coordinates.
        w: angular velocity of the moving frame, expressed in it [rad/s].
    """
    return r_rate + w.cross(r)
