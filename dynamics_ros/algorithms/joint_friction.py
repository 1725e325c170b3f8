# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What friction takes away in a joint: viscous, Coulomb and Stribeck ([Armstrong1994])."""

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
) -> Scalar:
    """viscous v + (coulomb + stribeck exp(-(v/v_s)^2)) tanh(v/v_f).

    Written with exp(-2 |v|/v_f), which cannot overflow.

    Args:
        v: velocity [rad/s or m/s].
        viscous: per velocity [Nms/rad or Ns/m].
        coulomb: at any speed [Nm or N].
        stribeck: what dry friction is larger by when motion begins [Nm or N].
        friction_velocity: v_f, where tanh has smoothed the step of the sign to 76 % [rad/s or m/s].
        stribeck_velocity: v_s, where the additional friction has fallen to 37 % [rad/s or m/s].
    """
    away = exp(abs(v) * (-2.0 / friction_velocity))
    smooth = (1.0 - away) / (1.0 + away)
    relative = v / stribeck_velocity
    dry = (coulomb + stribeck * exp(-(relative * relative))) * smooth
    return viscous * v + where_less(v, 0.0, -dry, dry)
