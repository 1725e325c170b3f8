# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot that another one replaces is freed at once, with its kernels.

Nodes have the garbage collector skip the first robot, because a collection would delay messages.
"""

from __future__ import annotations

import gc
import weakref

import pytest
from ros_harness import description

from dynamics_ros import Robot
from dynamics_ros.commanding.arm import PreparedArm
from dynamics_ros.commanding.prepared_servo import PreparedServo
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.contact_settings import ContactSettings
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.parameters.servo import ServoParameters


def arm(robot):
    joints = tuple(robot.joint_names)
    return PreparedArm.of(robot, ImpedanceParameters(command_joints=joints), robot.tool_frame)


def servo(robot):
    return PreparedServo.of(robot, ServoParameters(), robot.tool_frame, None)


def contacts(robot):
    return ContactPipeline(robot, ContactSettings(), robot.tool_frame)


def inverse_kinematics(robot):
    return robot.inverse_kinematics(robot.forward_kinematics(robot.neutral()))


@pytest.mark.parametrize('use', [arm, servo, contacts, inverse_kinematics])
def test_a_robot_is_freed_without_the_garbage_collector(use):
    robot = Robot.from_urdf(description())
    made = use(robot)
    freed = weakref.ref(robot)
    gc.collect()
    gc.disable()
    try:
        del robot, made
        assert freed() is None
    finally:
        gc.enable()
