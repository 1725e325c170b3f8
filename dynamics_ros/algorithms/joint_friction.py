# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Friction torque of a joint.

Viscous, Coulomb and Stribeck friction ([Armstrong1994]), and dry friction that increases with the
torque that the joint transmits ([Hamon2010]).
"""

from __future__ import annotations

from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp, where_less

from .quantity import Tau, V, quantity

FRICTION_VELOCITY, STRIBECK_VELOCITY = 0.01, 0.2
"""Default speeds of the smoothed dry friction and of the decay of Stribeck friction [rad/s]."""


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
        viscous: viscous friction per velocity [Nms/rad or Ns/m].
        coulomb: Coulomb friction, at any speed [Nm or N].
        stribeck: additional dry friction at the onset of motion [Nm or N].
        friction_velocity: v_f, at which the smoothed sign tanh is 76 % [rad/s or m/s].
        stribeck_velocity: v_s, at which the additional friction has decayed to 37 % [rad/s or m/s].
        load_friction: increase of dry friction per transmitted torque.
        carried: torque that the joint transmits, the motor torque minus friction [Nm or N].
    """
    relative = v / stribeck_velocity
    dry = coulomb + stribeck * exp(-(relative * relative)) + load_friction * abs(carried)
    return viscous * v + dry * smooth_sign(v, friction_velocity)


@quantity('friction torques in the joints', 'torques, along the velocities', internal=True)
def joint_friction(
    model: Model,
    v: V,
    viscous: Tau,
    coulomb: Tau,
    stribeck: Tau,
    friction_velocity: V,
    stribeck_velocity: V,
) -> list[Scalar]:
    """`friction_torque` (nv) of each joint."""
    columns = zip(
        *(v, viscous, coulomb, stribeck, friction_velocity, stribeck_velocity), strict=True
    )
    return [friction_torque(*column) for column in columns]


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
    """Torque that a joint transmits: the motor torque minus friction [Nm or N].

    It is the solution L of ``torque = L + friction_torque(..., carried=L)``. With the torque N
    after friction that does not depend on the load, L = N / (1 + load_friction tanh(v/v_f)
    sign(N)). L is continuous in N and v, and has the sign of N if ``load_friction`` is below 1.

    Args:
        torque: motor torque at the joint, including the gear ratio [Nm or N].
        v, viscous, coulomb, stribeck, friction_velocity, stribeck_velocity, load_friction: as for
            ``friction_torque``.
    """
    curve = viscous, coulomb, stribeck, friction_velocity, stribeck_velocity
    unloaded = torque - friction_torque(v, *curve)
    share = load_friction * smooth_sign(v, friction_velocity)
    return unloaded / (1.0 + where_less(unloaded, 0.0, -share, share))


def smooth_sign(v: Scalar, friction_velocity: Scalar) -> Scalar:
    """tanh(v/v_f), computed from exp(-2 |v|/v_f), which cannot overflow."""
    decay = exp(abs(v) * (-2.0 / friction_velocity))
    smooth = (1.0 - decay) / (1.0 + decay)
    return where_less(v, 0.0, -smooth, smooth)
