# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Effort model and friction of the drives from a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.joint_friction import friction_torque
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.effort_model import MAX_LOAD_FRICTION
from dynamics_ros.robot import Robot

from .equations import STRIBECK_VELOCITY, EquationMaker
from .fit import Fit
from .normal_equations import FRICTION

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


def friction_at_rest(
    robot: Robot, fit: Fit, moved: NDArray[np.bool_]
) -> tuple[Fit, tuple[str, ...]]:
    """Choose the friction of joints that did not move: the described one, or none.

    The described friction is kept, unless the joints that moved show that the description is worse
    than no friction at all: many descriptions contain values that only stabilize a simulator.

    Args:
        robot: the robot.
        fit: its fit, with the described friction for joints that did not move.
        moved: (nv) whether joints moved.

    Returns:
        The fit, and a sentence for each change of the described friction.
    """
    x = fit.x.copy()
    friction, described = fit.layout.friction_of(x), fit.layout.friction_of(fit.prior.mean)
    own, stated = friction[moved], described[moved]
    size = np.maximum(np.maximum(np.abs(own), np.abs(stated)), 1e-12)
    worse = (np.abs(own - stated) / size).sum(axis=0) > (np.abs(own) / size).sum(axis=0)
    worse = worse & VISCOUS_AND_DRY
    taken = described[:, worse].any(axis=1) & ~moved
    if not taken.any():
        return fit, ()
    friction[np.ix_(~moved, worse)] = 0.0
    names = ', '.join(name for name, one in zip(robot.joint_names, taken, strict=True) if one)
    return replace(fit, x=x), (
        f'the described friction of joints that moved is farther off than none, so {names}, which '
        'did not move, are taken to have none',
    )


VISCOUS_AND_DRY = np.array([name in ('viscous', 'coulomb', 'breakaway') for name in FRICTION])
"""Mask of the friction terms that a description contains."""


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
