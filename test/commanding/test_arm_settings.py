# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bounds of torques and speeds of commanded joints: those of the description and parameters."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.commanding.arm import arm_settings, selected
from dynamics_ros.control import CompliantArm, ImpedanceController
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.parameters.impedance import ImpedanceParameters, TorqueParameters

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


def test_a_joint_whose_torque_nothing_bounds_is_not_commanded():
    robot = Robot.from_urdf(re.sub(r' effort="[^"]*"', '', ARM.read_text(), count=1))
    values = ImpedanceParameters(frame='tool0', command_joints=robot.joint_names)
    with pytest.raises(InvalidArgumentError, match=rf'torque\.limit.*{robot.joint_names[0]!r}'):
        selected(robot, values, 'tool0')
    bounded = ImpedanceParameters(
        frame='tool0', command_joints=robot.joint_names, torque=TorqueParameters(limit=(30.0,))
    )
    assert selected(robot, bounded, 'tool0')[0] == 'tool0'


@pytest.mark.parametrize(('given', 'brakes'), [({}, False), ({'joint_speed_share': 0.3}, True)])
def test_a_joint_beyond_the_share_of_its_speed_ends_what_the_arm_does(given, brakes):
    robot = Robot.from_urdf(ARM)
    values = ImpedanceParameters(**given)
    settings = arm_settings(robot, values, np.diag(values.stiffness))
    arm = CompliantArm(ImpedanceController(robot, 'tool0'), settings)
    q, v = robot.neutral(), np.zeros(robot.nv)
    arm.start(q, v)
    v[3] = 0.4 * robot.velocity_limits[3]
    arm.approach(q, v, 0.001, arm.pose)
    assert ('speed' in arm.acting) == brakes


def test_directions_without_stiffness_are_damped_as_in_guiding():
    robot, values = Robot.from_urdf(ARM), ImpedanceParameters()
    settings = arm_settings(robot, values, np.diag([400.0, 0.0, 400.0, 10.0, 10.0, 0.0]))
    wanted = np.diag([0.0, values.guiding.damping[1], 0.0, 0.0, 0.0, values.guiding.damping[5]])
    np.testing.assert_allclose(settings.compliance.least_damping, wanted, atol=1e-9)
    stiff = arm_settings(robot, values, np.diag(values.stiffness))
    assert not stiff.compliance.least_damping.any()


def test_free_rotations_of_a_small_wrist_are_not_refused_because_of_their_damping():
    robot, values = Robot.from_urdf(ARM), ImpedanceParameters()
    free = arm_settings(robot, values, np.diag([1000.0, 1000.0, 1000.0, 0.0, 0.0, 0.0]))
    arm = CompliantArm(ImpedanceController(robot, 'tool0'), free)
    q = robot.nominal()
    arm.start(q, np.zeros(robot.nv))
    arm.check(free, guided=False, interval=0.004)
