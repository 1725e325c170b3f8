# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a fit tells of the drives: efforts as torques, and friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.joint_friction import friction_torque
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.effort_model import MAX_LOAD_FRICTION
from dynamics_ros.robot import Robot

from .fit import Fit
from .normal_equations import FRICTION

Array = NDArray[np.float64]


def effort_model_of(robot: Robot, fit: Fit, scale: Array) -> EffortModel:
    """What reported efforts mean: friction and rotors of a fit, (nv) scale of the drives."""
    viscous, offset, dry, rest, _ = fit.friction.T
    stribeck = fit.shape.stribeck_velocity
    # The model is of the torques on bodies: what a motor gives beyond them is taken off.
    model = EffortModel.ideal(robot).with_values(
        scale=scale,
        offset=-offset,
        viscous=np.maximum(viscous, 0.0),
        coulomb=np.maximum(dry, 0.0),
        stribeck=np.maximum(rest, 0.0) - np.maximum(dry, 0.0) if stribeck else 0.0,
        load_friction=np.minimum(fit.load_friction, MAX_LOAD_FRICTION),
        rotor_inertia=np.maximum(fit.rotors, 0.0),
        friction_velocity=fit.shape.velocity,
    )
    return model.with_values(stribeck_velocity=stribeck) if stribeck else model


def friction_at_rest(
    robot: Robot, fit: Fit, moved: NDArray[np.bool_]
) -> tuple[Fit, tuple[str, ...]]:
    """A fit whose joints that did not move have the friction that is the best guess for them.

    That is the described one, unless the joints that moved say that descriptions of this robot are
    farther off than none: values that keep a simulator stable are in many of them.

    Args:
        robot: whose fit it is.
        fit: in which those joints have friction as described.
        moved: (nv) which joints moved.

    Returns:
        The fit, and a sentence where friction is not taken as described.
    """
    x = fit.x.copy()
    friction, described = fit.layout.friction_of(x), fit.layout.friction_of(fit.prior.mean)
    own, told = friction[moved], described[moved]
    size = np.maximum(np.maximum(np.abs(own), np.abs(told)), 1e-12)
    worse = (np.abs(own - told) / size).sum(axis=0) > (np.abs(own) / size).sum(axis=0)
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
"""Friction that descriptions tell of."""


def friction_curve(model: EffortModel, joint: int, v: Array, carried: Array | float = 0.0) -> Array:
    """Friction and offset of a joint as a motor has to bring them (n) [Nm or N].

    Args:
        model: of the drives.
        joint: number.
        v: (n) velocities [rad/s or m/s].
        carried: number or (n), what the joint carries [Nm or N].
    """
    curve: Array = (
        friction_torque(
            v,
            model.viscous[joint],
            model.coulomb[joint],
            model.stribeck[joint],
            model.friction_velocity,
            model.stribeck_velocity,
            model.load_friction[joint],
            carried,
        )
        - model.offset[joint]
    )
    return curve
