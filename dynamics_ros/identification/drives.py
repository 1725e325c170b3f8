# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Effort model and friction of the drives from a fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.joint_friction import friction_torque
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.effort_model import MAX_LOAD_FRICTION

from .equations import STRIBECK_VELOCITY, EquationMaker
from .fit import Fit

Array = NDArray[np.float64]


def effort_model_of(maker: EquationMaker, fit: Fit) -> EffortModel:
    """Effort model from a fit, and from the effort scale of its equations."""
    viscous, offset, dry, rest, _ = np.maximum(fit.friction, [0.0, -np.inf, 0.0, 0.0, 0.0]).T
    # The effort model computes torques on the bodies: motor offset and friction are subtracted.
    return EffortModel.ideal(maker.robot).with_values(
        scale=maker.scale,
        offset=-offset,
        viscous=viscous,
        coulomb=dry,
        stribeck=rest - dry,
        load_friction=np.minimum(fit.load_friction, MAX_LOAD_FRICTION),
        rotor_inertia=np.maximum(fit.rotors, 0.0),
        friction_velocity=maker.friction_velocity,
        stribeck_velocity=STRIBECK_VELOCITY,
    )


def friction_curve(model: EffortModel, joint: int, v: Array, carried: Array | float = 0.0) -> Array:
    """Friction and offset torque that a motor has to provide (n) [Nm or N].

    Args:
        model: effort model of the drives.
        joint: index of the joint.
        v: (n) velocities [rad/s or m/s].
        carried: load of the joint, number or (n) [Nm or N].
    """
    dry_speed, stribeck_speed = model.speeds
    curve: Array = (
        friction_torque(
            v,
            model.viscous[joint],
            model.coulomb[joint],
            model.stribeck[joint],
            dry_speed[joint],
            stribeck_speed[joint],
            model.load_friction[joint],
            carried,
        )
        - model.offset[joint]
    )
    return curve
