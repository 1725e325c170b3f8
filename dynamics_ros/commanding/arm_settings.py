# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How an arm on springs behaves, from its parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.control import (
    ArmSettings,
    Compliance,
    Guiding,
    ReactionSettings,
    SetpointLimits,
    stiffness_matrix,
)
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.contact_settings import EffortSettings
from dynamics_ros.parameters.impedance import (
    DIRECTIONS,
    CollisionParameters,
    GuidingParameters,
    ImpedanceParameters,
    TorqueParameters,
)
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

NO_WALL = 1e9
"""m, in place of a wall that there is not."""


def arm_settings(
    robot: Robot, values: ImpedanceParameters, stiffness: Array, axes: Array | None
) -> ArmSettings:
    """How the arm is to behave.

    Args:
        robot: that it is.
        values: the parameters.
        stiffness: (6, 6).
        axes: (3, 3) of the stiffness in the root frame; None: those of the tool, turning with it.

    Raises:
        InvalidArgumentError: a parameter does not fit the robot.
    """
    friction = effort_model(robot, EffortSettings(), values.friction)
    share, limits = values.friction_compensation, values.setpoint
    joints: dict[str, Array | float] = {
        'posture_stiffness': per_velocity(robot, values.posture.stiffness, 'posture.stiffness'),
        'posture_damping': per_velocity(robot, values.posture.damping, 'posture.damping'),
        'margin': values.joint_range.margin,
        'limit_stiffness': values.joint_range.stiffness,
        'guard_rate': values.joint_range.guard_rate,
        'max_torque': _largest_torques(robot, values.torque),
        'max_torque_rate': per_velocity(robot, values.torque.max_rate, 'torque.max_rate'),
        'viscous': share * friction.viscous,
        'coulomb': share * friction.coulomb,
        'stribeck': share * friction.stribeck,
        'load_friction': share * friction.load_friction,
        'friction_velocity': friction.friction_velocity,
        'stribeck_velocity': friction.stribeck_velocity,
    }
    return ArmSettings(
        Compliance(
            stiffness,
            values.damping_ratio,
            axes=np.eye(3) if axes is None else axes,
            axes_of_tool=axes is None,
        ),
        guiding(values.guiding),
        SetpointLimits(
            limits.linear_speed,
            limits.angular_speed,
            limits.linear_acceleration,
            limits.angular_acceleration,
            limits.linear_lead,
            limits.angular_lead,
        ),
        joints,
        values.largest_inertia,
        values.energy.capacity,
        values.blending_time,
    )


def _largest_torques(robot: Robot, values: TorqueParameters) -> Array:
    """(nv) that torques keep to; inf for joints that have no limit."""
    efforts = np.full(robot.nv, np.inf)
    efforts[robot.nv - len(robot.effort_limits) :] = robot.effort_limits
    limit = per_velocity(robot, values.limit or (np.inf,), 'torque.limit')
    return np.minimum(values.share * efforts, limit)


def check_torques_bounded(robot: Robot, values: TorqueParameters, joints: Sequence[str]) -> None:
    """Refuse to command joints whose torques nothing bounds.

    Raises:
        InvalidArgumentError: a joint without limit, which it names.
    """
    largest = _largest_torques(robot, values)
    free = [name for name in joints if not np.isfinite(largest[robot.joint_v_indices[name]])]
    if free:
        raise InvalidArgumentError(
            'torque.limit',
            f'without one nothing bounds the torque of {free[0]!r}, which has no effort limit in '
            'the description',
            'a limit, or one per joint',
        )


def guiding(values: GuidingParameters) -> Guiding:
    """What a hand feels.

    Raises:
        InvalidArgumentError: walls the wrong way round.
    """
    lower = np.array(values.lower or (-NO_WALL,) * 3)
    upper = np.array(values.upper or (NO_WALL,) * 3)
    if (lower > upper).any():
        raise InvalidArgumentError('guiding.lower', 'above guiding.upper', 'lower <= upper')
    locked = np.array([name in values.locked for name in DIRECTIONS])
    return Guiding(
        locked,
        lower,
        upper,
        np.array(values.stiffness),
        np.array(values.damping),
        values.speed,
        values.angular_speed,
    )


def reaction_settings(values: CollisionParameters) -> ReactionSettings | None:
    """How collisions are reacted to; None where they are not.

    Raises:
        InvalidArgumentError: a duration that this reaction cannot have.
    """
    if values.reaction == 'none':
        return None
    return ReactionSettings(
        values.reaction,
        values.duration,
        values.torque_gain,
        values.admittance,
        values.speed,
        values.damping,
        values.distance,
    )


def stiffness_of(argument: str, values: Array) -> Array:
    """(6, 6) of 6 or 36 numbers.

    Raises:
        InvalidArgumentError: another count, no symmetric matrix, or one that drives.
    """
    if values.size not in (6, 36):
        raise InvalidArgumentError(argument, f'{values.size} numbers', '6, or 36 row by row')
    return stiffness_matrix(argument, values if values.size == 6 else values.reshape(6, 6))
