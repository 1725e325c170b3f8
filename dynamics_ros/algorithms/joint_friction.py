# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What friction takes away in a joint.

Viscous, Coulomb and Stribeck friction ([Armstrong1994]), and dry friction that grows with the
torque that the joint carries ([Hamon2010]).
"""

from __future__ import annotations

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp, where_less


def friction_torque(
    v: Scalar,
    viscous: Scalar,
    coulomb: Scalar,
    stribeck: Scalar,
    friction_velocity: Scalar,
    stribeck_velocity: Scalar,
    load_friction: Scalar = 0.0,
    carried: Scalar = 0.0,
) -> Scalar:
    """viscous v + (coulomb + stribeck exp(-(v/v_s)^2) + load_friction |carried|) tanh(v/v_f).

    Args:
        v: velocity [rad/s or m/s].
        viscous: per velocity [Nms/rad or Ns/m].
        coulomb: at any speed [Nm or N].
        stribeck: what dry friction is larger by when motion begins [Nm or N].
        friction_velocity: v_f, where tanh has smoothed the step of the sign to 76 % [rad/s or m/s].
        stribeck_velocity: v_s, where the additional friction has fallen to 37 % [rad/s or m/s].
        load_friction: what dry friction grows by per torque that the joint carries.
        carried: torque that the joint carries: what is left of the motor's behind friction [Nm
            or N].
    """
    relative = v / stribeck_velocity
    dry = coulomb + stribeck * exp(-(relative * relative)) + load_friction * abs(carried)
    return viscous * v + dry * smooth_sign(v, friction_velocity)


def torque_behind_friction(
    torque: Scalar,
    v: Scalar,
    viscous: Scalar,
    coulomb: Scalar,
    stribeck: Scalar,
    friction_velocity: Scalar,
    stribeck_velocity: Scalar,
    load_friction: Scalar,
) -> Scalar:
    """What is left of a motor's torque behind friction: the torque that the joint carries.

    It is the L of ``torque = L + friction_torque(..., carried=L)``: with N what is left without
    friction that grows with the load, L = N / (1 + load_friction tanh(v/v_f) sign(N)), which is
    continuous in N and v, and has the sign of N as long as ``load_friction`` is below 1.

    Args:
        torque: of the motor, with the gear's ratio [Nm or N].
        v, viscous, coulomb, stribeck, friction_velocity, stribeck_velocity, load_friction: as of
            ``friction_torque``.
    """
    curve = viscous, coulomb, stribeck, friction_velocity, stribeck_velocity
    left = torque - friction_torque(v, *curve)
    share = load_friction * smooth_sign(v, friction_velocity)
    return left / (1.0 + where_less(left, 0.0, -share, share))


def smooth_sign(v: Scalar, friction_velocity: Scalar) -> Scalar:
    """tanh(v/v_f), written with exp(-2 |v|/v_f), which cannot overflow."""
    away = exp(abs(v) * (-2.0 / friction_velocity))
    smooth = (1.0 - away) / (1.0 + away)
    return where_less(v, 0.0, -smooth, smooth)
