# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cartesian servo made from parameters, checked and compiled for a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.control import JointCommand
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.inverse_kinematics.differential import (
    CartesianServo,
    ServoSettings,
    ServoStep,
)
from dynamics_ros.parameters.names import check_unique, known_frames
from dynamics_ros.parameters.servo import ServoParameters
from dynamics_ros.robot import Robot

from .joints import check_speeds_bounded, servo_joints, turning_joints, unwound

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PreparedServo:
    """Cartesian servo with its configuration, checked against a robot.

    Attributes:
        robot: the robot.
        servo: moves its frame.
        joints: commanded joints.
        turning: as of ``turning_joints``.
    """

    robot: Robot
    servo: CartesianServo
    joints: tuple[str, ...]
    turning: NDArray[np.bool_]

    @classmethod
    def of(cls, robot: Robot, values: ServoParameters, default_frame: str) -> PreparedServo:
        """Check frame and joints, and compile the kernels.

        Raises:
            DynamicsRosError: the robot does not have them.
        """
        frame, joints = led(robot, values, default_frame)
        others = [name for name in robot.joint_v_indices if name not in joints]
        servo = CartesianServo(robot, frame, _settings(values), others)
        q = robot.neutral()
        servo.follow_pose(q, robot.forward_kinematics(q, frame), 1.0)
        servo.reset()
        return cls(robot, servo, joints, turning_joints(robot))

    def departure(self, q: Array, last: JointCommand, tolerance: float) -> str:
        """Return which joint is farther than a tolerance from its last command; '' if none is.

        Args:
            q: (nq) reported configuration.
            last: last command.
            tolerance: maximum distance [rad or m].
        """
        indices = [self.robot.joint_q_indices[name] for name in last.joints]
        deviations = np.abs(unwound(q[indices], last.q, self.turning[indices]) - last.q)
        if deviations.max() <= tolerance:
            return ''
        index = int(deviations.argmax())
        return f'{last.joints[index]} is {deviations[index]:.3g} from where it was sent'

    def begin_step(self, q: Array, last: JointCommand | None, by_position: bool) -> Array:
        """Begin a step with the velocity of the last command; return where it starts (nq).

        For position commands, the step starts at the last commanded position, because the robot
        lags behind its commands.

        Args:
            q: (nq) reported configuration.
            last: last command; None at rest.
            by_position: whether commands contain positions.
        """
        self.servo.reset()
        if last is not None:
            robot = self.robot
            self.servo.v[[robot.joint_v_indices[name] for name in last.joints]] = last.v
            if by_position:
                q = q.copy()
                q[[robot.joint_q_indices[name] for name in last.joints]] = last.q
        return q

    def command(self, q: Array, step: ServoStep, dt: float) -> JointCommand:
        """Return the command of a step from q (nq) that takes a time [s]."""
        robot, joints = self.robot, self.joints
        return JointCommand(
            joints,
            robot.integrate(q, dt * step.v)[[robot.joint_q_indices[name] for name in joints]],
            step.v[[robot.joint_v_indices[name] for name in joints]],
        )


def led(robot: Robot, values: ServoParameters, default_frame: str) -> tuple[str, tuple[str, ...]]:
    """Frame that the servo moves and the joints that it commands.

    Raises:
        DynamicsRosError: the robot does not have them.
    """
    asked = (values.frame,) if values.frame else ()
    (frame,) = known_frames(robot, asked, default_frame, 'frame')
    joints = servo_joints(robot, frame, values.command_joints, values.command_type)
    check_speeds_bounded(robot, joints, values.speed.joint)
    return frame, joints


def check_servo(values: ServoParameters) -> None:
    """Refuse parameters that contradict each other.

    Raises:
        InvalidArgumentError: naming one of them.
    """
    if not values.singularity.stop_condition > values.singularity.slow_condition:
        raise InvalidArgumentError(
            'singularity.stop_condition',
            f'{values.singularity.stop_condition:g}',
            f'above slow_condition, {values.singularity.slow_condition:g}',
        )
    check_unique(values.command_joints)


def limits_of(step: ServoStep) -> list[str]:
    """Return what slows or stops a step, as texts for the status."""
    notes = ['near a singularity'] if step.near_singularity else []
    stuck = sorted(name for name, kind in step.at_limit.items() if kind == 'position')
    return [*notes, f'at the limit of {", ".join(stuck)}'] if stuck else notes


def values_of(step: ServoStep) -> dict[str, str]:
    """Return the values of a step for the status."""
    return {
        'speed': f'{step.speed:.3f}',
        'condition number': f'{step.condition:.1f}',
        'near singularity': str(step.near_singularity).lower(),
        'at limit': ', '.join(f'{name}: {kind}' for name, kind in step.at_limit.items()),
    }


def _settings(values: ServoParameters) -> ServoSettings:
    return ServoSettings(
        follow=values.follow,
        gain=values.gain,
        linear_speed=values.speed.linear,
        angular_speed=values.speed.angular,
        joint_velocity=values.speed.joint,
        velocity_scale=values.speed.joint_scale,
        joint_acceleration=values.speed.joint_acceleration,
        joint_margin=values.joint_margin,
        slow_condition=values.singularity.slow_condition,
        stop_condition=values.singularity.stop_condition,
    )
