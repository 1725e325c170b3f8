# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compliant arm made from parameters, checked and compiled for a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.collision import Collisions, Repulsion
from dynamics_ros.control import (
    ArmSettings,
    Compliance,
    CompliantArm,
    Guiding,
    ImpedanceController,
    MotionCheck,
    ReactionSettings,
    stiffness_matrix,
)
from dynamics_ros.control.compliance.gains import NO_LIMIT
from dynamics_ros.control.compliance.motion_check import holding_friction
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.contact_estimators import effort_model, per_velocity
from dynamics_ros.estimation.contact_settings import EffortSettings
from dynamics_ros.parameters.impedance import (
    CollisionParameters,
    GuidingParameters,
    ImpedanceParameters,
    TorqueParameters,
)
from dynamics_ros.parameters.robot import known_frames
from dynamics_ros.robot import Robot

from .joints import commanded_joints, turning_joints

Array = NDArray[np.float64]

NO_STIFFNESS = 1e-6
"""Stiffness of a direction that counts as free, relative to the largest one."""

RESERVE = 1.1
"""Least torque limit of a running arm as a multiple of its gravity torque."""


def arm_settings(robot: Robot, values: ImpedanceParameters, stiffness: Array) -> ArmSettings:
    """Convert the parameters to the settings of a compliant arm.

    Args:
        robot: the arm.
        values: the parameters.
        stiffness: (6, 6) in the axes of the root frame.

    Raises:
        InvalidArgumentError: a parameter does not fit the robot.
    """
    friction = effort_model(robot, EffortSettings(), values.friction)
    share = values.friction_compensation
    joints: dict[str, Array | float] = {
        'posture_stiffness': per_velocity(robot, values.posture.stiffness, 'posture.stiffness'),
        'posture_damping': per_velocity(robot, values.posture.damping, 'posture.damping'),
        'margin': values.joint_range.margin,
        'limit_stiffness': values.joint_range.stiffness,
        'max_torque': _largest_torques(robot, values.torque),
        'max_torque_rate': per_velocity(robot, values.torque.max_rate, 'torque.max_rate'),
        'viscous': share * friction.viscous,
        'coulomb': share * friction.coulomb,
        'stribeck': share * friction.stribeck,
        'load_friction': share * friction.load_friction,
        **dict(zip(('friction_velocity', 'stribeck_velocity'), friction.speeds, strict=True)),
    }
    return ArmSettings(
        Compliance(stiffness, values.damping_ratio, _damping_of_free_directions(stiffness)),
        Guiding(
            np.array(values.guiding.damping), values.guiding.speed, values.guiding.angular_speed
        ),
        values.setpoint,
        joints,
        largest_speed=values.joint_speed_share,
    )


def _damping_of_free_directions(stiffness: Array) -> Array:
    """Damping (6, 6) along directions without stiffness, as of guiding: a tool would coast."""
    values, vectors = np.linalg.eigh(stiffness)
    free = vectors[:, values <= NO_STIFFNESS * max(1.0, values[-1])]
    projector = free @ free.T
    return np.asarray(projector @ np.diag(GuidingParameters.damping) @ projector)


def _largest_torques(robot: Robot, values: TorqueParameters) -> Array:
    """Torque limits (nv); inf for joints without a limit."""
    efforts = np.full(robot.nv, np.inf)
    efforts[robot.nv - len(robot.effort_limits) :] = robot.effort_limits
    limit = per_velocity(robot, values.limit or (np.inf,), 'torque.limit')
    return np.minimum(values.share * efforts, limit)


def check_torques_bounded(robot: Robot, values: TorqueParameters, joints: Sequence[str]) -> None:
    """Refuse to command joints whose torque has no limit.

    Raises:
        InvalidArgumentError: a joint has no limit; the error names it.
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


def check_carries(arm: CompliantArm, settings: ArmSettings) -> None:
    """Refuse torque limits of a running arm that do not carry it, or cannot brake it.

    Raises:
        InvalidArgumentError: a limit of a joint is too small; the error names the joint.
    """
    before, after = (np.asarray(x.joints['max_torque']) for x in (arm.settings, settings))
    rates = [np.asarray(x.joints['max_torque_rate']) for x in (arm.settings, settings)]
    least = RESERVE * np.abs(arm.gravity)
    for name, index in arm.controller.robot.joint_v_indices.items():
        if after[index] < min(before[index], least[index]):
            raise InvalidArgumentError(
                'torque.limit',
                f'less than {least[index]:.3g} at {name!r}, which carries the arm now',
                'more, or deactivation before',
            )
        # Torques that need more than a second to reach their limit do not bring an arm to rest.
        if rates[1][index] < min(rates[0][index], after[index]) and after[index] < np.inf:
            slow = f'less than {after[index]:.3g} at {name!r}, too slow to bring the arm to rest'
            raise InvalidArgumentError('torque.max_rate', slow, 'more, or deactivation before')


def reaction_settings(values: CollisionParameters) -> ReactionSettings | None:
    """Convert the parameters of the collision reaction; None if there is no reaction.

    Raises:
        InvalidArgumentError: this reaction does not allow the duration.
    """
    if values.reaction == 'none':
        return None
    return ReactionSettings(values.reaction, values.duration, values.damping)


def stiffness_of(argument: str, values: Array) -> Array:
    """Convert 6 or 36 numbers to a stiffness matrix (6, 6).

    Raises:
        InvalidArgumentError: the count is wrong, or the matrix is not symmetric or has a negative
            eigenvalue.
    """
    return stiffness_matrix(argument, values.reshape(6, 6) if values.size == 36 else values)


def friction_at_rest(robot: Robot, values: ImpedanceParameters, places: NDArray[np.intp]) -> Array:
    """Change of torque (nv) that need not move a joint; large if it is not commanded."""
    known = effort_model(robot, EffortSettings(), values.friction)
    largest = _largest_torques(robot, values.torque)
    friction = np.full(robot.nv, NO_LIMIT)
    friction[places] = holding_friction(largest, known.coulomb + known.stribeck)[places]
    return friction


@dataclass(frozen=True)
class PreparedArm:
    """Compliant arm with its configuration, checked against a robot.

    Attributes:
        robot: the robot.
        arm: the controlled arm.
        check: plausibility check of its joint states.
        joints: commanded joints.
        places: their indices among the velocities.
        turning: as of ``turning_joints``.
        links: links that are pushed apart, without obstacles; None if none is.
        repulsion: that pushes them.
    """

    robot: Robot
    arm: CompliantArm
    check: MotionCheck
    joints: tuple[str, ...]
    places: NDArray[np.intp]
    turning: NDArray[np.bool_]
    links: Collisions | None
    repulsion: Repulsion | None

    @classmethod
    def of(
        cls,
        robot: Robot,
        values: ImpedanceParameters,
        default_frame: str,
        links: Collisions | None = None,
    ) -> PreparedArm:
        """Check frame and joints, and compile the kernels.

        Raises:
            DynamicsRosError: the parameters do not fit the robot.
        """
        frame, places = selected(robot, values, default_frame)
        controller = ImpedanceController(robot, frame)
        stiffness = stiffness_of('stiffness', np.array(values.stiffness))
        arm = CompliantArm(controller, arm_settings(robot, values, stiffness))
        repulsion = None
        if links is not None:
            repulsion = Repulsion(links, values.repulsion.stiffness, values.repulsion.distance)
            repulsion.wait()
            arm.repulsion = repulsion.torques
        # The interpreted trace is too slow for joint states at 1 kHz.
        arm.wait()
        q, v, dt = robot.neutral(), np.zeros(robot.nv), 1e-3
        check = MotionCheck(robot, friction_at_rest(robot, values, places))
        check.wait()
        check.judge(q, v, dt)
        arm.start(q, v)
        arm.is_stable_at(dt)
        arm.approach(q, v, dt, arm.pose)
        arm.guide(q, v, dt)
        arm.give_way(q, v, dt, v)
        arm.brake(q, v, dt)
        arm.reckon(dt)
        arm.forget()
        joints = values.command_joints
        return cls(robot, arm, check, joints, places, turning_joints(robot), links, repulsion)


def selected(
    robot: Robot, values: ImpedanceParameters, default_frame: str
) -> tuple[str, NDArray[np.intp]]:
    """Controlled frame and the velocity indices of the commanded joints.

    Raises:
        DynamicsRosError: the robot does not have them.
    """
    asked = (values.frame,) if values.frame else ()
    (frame,) = known_frames(robot, asked, default_frame, 'frame')
    joints = commanded_joints(robot, frame, values.command_joints, 'effort')
    check_torques_bounded(robot, values.torque, joints)
    return frame, np.array([robot.joint_v_indices[name] for name in joints])
