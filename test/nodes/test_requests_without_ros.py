# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Names of frames, gravity and MoveIt requests, checked without a running node."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Vector3, Vector3Stamped
from std_msgs.msg import Header

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError, UnknownFrameError
from dynamics_ros.nodes.inverse_kinematics import (
    Code,
    MoveItError,
    check_supported,
    requested_targets,
)
from dynamics_ros.nodes.load import gravity_in_root
from dynamics_ros.nodes.robot_request import FrameNames, check_count
from dynamics_ros.parameters.kinematics import KinematicsParameters

URDF = """
<robot name="swing">
  <link name="base"/>
  <link name="arm"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="imu"/>
  <joint name="swing" type="continuous">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="mount" type="fixed">
    <parent link="base"/><child link="imu"/><origin rpy="0 0 1.5707963267948966"/>
  </joint>
</robot>
"""
ROBOT = Robot.from_urdf(URDF)
NAMES = FrameNames('left/base', 'left/')


def test_a_frame_of_a_request_is_found_with_its_prefix_or_refused():
    assert NAMES.required_frame(ROBOT, 'left/arm', 'frame') == 'arm'
    with pytest.raises(UnknownFrameError, match='nose'):
        NAMES.required_frame(ROBOT, 'left/nose', 'frame')
    check_count(ROBOT, len(ROBOT.frame_names), 'frames')
    with pytest.raises(InvalidArgumentError, match='at most the'):
        check_count(ROBOT, len(ROBOT.frame_names) + 1, 'frames')


def test_only_a_frame_fixed_to_the_root_has_a_constant_rotation():
    np.testing.assert_array_equal(NAMES.fixed_rotation(ROBOT, '', 'imu'), np.eye(3))
    turned = NAMES.fixed_rotation(ROBOT, 'left/imu', 'imu')
    np.testing.assert_allclose(turned, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    with pytest.raises(DynamicsRosError, match='moved by joints'):
        NAMES.fixed_rotation(ROBOT, 'left/arm', 'imu')


def gravity(frame_id, robot=ROBOT, z=-9.81):
    """Return the gravity of a message in the root frame."""
    message = Vector3Stamped(header=Header(frame_id=frame_id), vector=Vector3(z=z))
    return gravity_in_root(SimpleNamespace(names=NAMES, robot=robot), message)


def test_gravity_is_accepted_in_the_root_frame_alone():
    for frame_id in ('', 'left/base'):
        assert gravity(frame_id) == (0.0, 0.0, -9.81)
    assert gravity('anything', robot=None) == (0.0, 0.0, -9.81)
    for frame_id in ('left/arm', 'map'):
        with pytest.raises(InvalidArgumentError, match='header'):
            gravity(frame_id)
    floating = Robot.from_urdf(URDF, root_joint='floating')
    assert gravity('map', floating) == (0.0, 0.0, -9.81)
    with pytest.raises(InvalidArgumentError, match='header'):
        gravity('left/arm', floating)
    with pytest.raises(InvalidArgumentError, match=r'gravity.vector: has .*up to 30 m/s\^2'):
        gravity('', z=-30.1)


def test_a_request_of_moveit_is_read_or_refused_with_its_code():
    constraints = SimpleNamespace(
        **{f'{k}_constraints': [] for k in ('joint', 'position', 'orientation', 'visibility')}
    )
    request = SimpleNamespace(
        group_name='arm',
        constraints=constraints,
        avoid_collisions=False,
        pose_stamped_vector=[],
        pose_stamped='pose',
        ik_link_names=[],
        ik_link_name='',
    )
    values = KinematicsParameters(group_name='arm')
    check_supported(request, values)
    assert requested_targets(request, lambda: 'tip') == [('tip', 'pose', 'pose_stamped')]
    request.pose_stamped_vector, request.ik_link_names = ['one', 'two'], ['tip']
    with pytest.raises(MoveItError, match='1 for 2 poses') as refusal:
        requested_targets(request, lambda: 'tip')
    assert refusal.value.code is Code.INVALID_LINK_NAME
    with pytest.raises(MoveItError) as refusal:
        check_supported(SimpleNamespace(**{**vars(request), 'group_name': 'leg'}), values)
    assert refusal.value.code is Code.INVALID_GROUP_NAME
    constraints.joint_constraints = ['one']
    with pytest.raises(MoveItError, match='joint constraints') as refusal:
        check_supported(request, values)
    assert refusal.value.code is Code.INVALID_GOAL_CONSTRAINTS
