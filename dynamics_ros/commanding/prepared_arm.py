# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compliant arm made from parameters, checked and compiled for a robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.control import CompliantArm, ImpedanceController, MotionCheck
from dynamics_ros.control.compliance.motion_check import FRICTION_SHARE
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.parameters.robot import known_frames
from dynamics_ros.robot import Robot

from .arm_settings import arm_settings, check_torques_bounded, stiffness_of
from .joints import check_effort_joints, effort_places, turning_joints

Places = NDArray[np.intp]


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
    """

    robot: Robot
    arm: CompliantArm
    check: MotionCheck
    joints: tuple[str, ...]
    places: Places
    turning: NDArray[np.bool_]

    @classmethod
    def of(cls, robot: Robot, values: ImpedanceParameters, default_frame: str) -> PreparedArm:
        """Check frame and joints, and compile the kernels.

        Raises:
            DynamicsRosError: the parameters do not fit the robot.
        """
        frame, places = selected(robot, values, default_frame)
        controller = ImpedanceController(robot, frame)
        stiffness = stiffness_of('stiffness', np.array(values.stiffness))
        arm = CompliantArm(controller, arm_settings(robot, values, stiffness, np.eye(3)))
        # The interpreted trace is too slow for joint states at 1 kHz.
        arm.wait()
        q, v, dt = robot.neutral(), np.zeros(robot.nv), 1e-3
        largest = np.asarray(arm.settings.joints['max_torque'])
        friction = np.full(robot.nv, np.inf)
        friction[places] = FRICTION_SHARE * largest[places]
        check = MotionCheck(robot, friction)
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
        return cls(robot, arm, check, values.command_joints, places, turning_joints(robot))


def selected(robot: Robot, values: ImpedanceParameters, default_frame: str) -> tuple[str, Places]:
    """Controlled frame and the velocity indices of the commanded joints.

    Raises:
        DynamicsRosError: the robot does not have them.
    """
    asked = (values.frame,) if values.frame else ()
    (frame,) = known_frames(robot, asked, default_frame, 'frame')
    check_effort_joints(values.command_joints)
    places = effort_places(robot, frame, values.command_joints)
    check_torques_bounded(robot, values.torque, values.command_joints)
    return frame, places
