# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What bounds torques of joints that are commanded: the description, a parameter, or nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dynamics_ros import Robot
from dynamics_ros.commanding.prepared_arm import selected
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
