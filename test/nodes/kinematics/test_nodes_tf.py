# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""/tf and /tf_static: the tree of the joints, as robot_state_publisher publishes it."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

import xml.etree.ElementTree as ElementTree

import numpy as np
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from ros_harness import LATCHED, description, running
from tf2_msgs.msg import TFMessage

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import pose_matrix

pytestmark = pytest.mark.ros

DOMAIN = 77
SAME = 1e-12

GRIPPER = """<robot name="gripper">
<link name="base"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="mount"/><link name="palm"/><link name="left"/><link name="right"/><link name="tip"/>
<joint name="hold" type="fixed"><parent link="base"/><child link="mount"/>
  <origin xyz="0.1 0 0.2" rpy="0.3 0 0"/></joint>
<joint name="turn" type="revolute"><parent link="mount"/><child link="palm"/>
  <origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
  <limit lower="-2" upper="2" velocity="1" effort="1"/></joint>
<joint name="open" type="prismatic"><parent link="palm"/><child link="left"/>
  <axis xyz="0 1 0"/><limit lower="0" upper="0.1" velocity="1" effort="1"/></joint>
<joint name="follow" type="prismatic"><parent link="palm"/><child link="right"/>
  <axis xyz="0 1 0"/><limit lower="-0.1" upper="0" velocity="1" effort="1"/>
  <mimic joint="open" multiplier="-1" offset="-0.01"/></joint>
<joint name="end" type="fixed"><parent link="left"/><child link="tip"/>
  <origin xyz="0 0 0.05"/></joint>
</robot>"""

STATE = ['turn', 'open'], [0.4, 0.03]


def edges(message) -> dict[str, str]:
    """Child to parent."""
    return {one.child_frame_id: one.header.frame_id for one in message.transforms}


def matrices(message) -> dict[str, np.ndarray]:
    return {
        one.child_frame_id: pose_matrix(one.transform, 'transform') for one in message.transforms
    }


def heard(ros, topic: str = '/joint_states', names=STATE[0], position=STATE[1], also=lambda: None):
    """The latest /tf of a state, and what is told of fixed joints."""
    moving, fixed = ros.listen(TFMessage, '/tf', 100), ros.listen(TFMessage, '/tf_static', LATCHED)
    message = ros.joint_state(names, position)

    def send():
        also()
        ros.publish_joint_state(message, topic)

    def come():
        stamps = (m.transforms[0].header.stamp for m in moving)
        return fixed and any(stamp == message.header.stamp for stamp in stamps)

    ros.wait_for(come, meanwhile=send)
    return moving[-1], fixed[-1]


def test_the_tree_is_that_of_the_description(ros):
    parameters = {'robot_description': description(), 'publish_tf': True}
    joints = ElementTree.fromstring(description()).findall('joint')
    expected = {j.find('child').get('link'): j.find('parent').get('link') for j in joints}
    still = {j.find('child').get('link') for j in joints if j.get('type') == 'fixed'}
    robot = Robot.from_urdf(description())
    with running('kinematics_node', DOMAIN, parameters):
        q = [0.1 * i for i in range(7)]
        moving, fixed = heard(ros, names=robot.joint_names, position=q)
        assert set(edges(fixed)) == still
        assert edges(moving) | edges(fixed) == expected
        placed = matrices(moving) | matrices(fixed)
        for child, parent in expected.items():
            # From any frame to the one above it.
            X_parent, X_child = (robot.forward_kinematics(q, name) for name in (parent, child))
            assert_allclose(X_parent @ placed[child], X_child, atol=SAME)


def test_locked_joints_stand_still_and_a_prefix_names_both_topics(ros):
    parameters = {
        'robot_description': GRIPPER,
        'publish_tf': True,
        'locked_joints': {'names': ['open'], 'positions': [0.05]},
        'frame_prefix': 'arm/',
    }
    with running('kinematics_node', DOMAIN, parameters, namespace='/arm'):
        moving, fixed = heard(ros, '/arm/joint_states')
        assert edges(moving) == {'arm/palm': 'arm/mount'}
        parents = {'mount': 'base', 'left': 'palm', 'right': 'palm', 'tip': 'left'}
        assert edges(fixed) == {f'arm/{child}': f'arm/{up}' for child, up in parents.items()}
        placed = matrices(fixed)
        assert_allclose(placed['arm/left'][:3, 3], [0.0, 0.05, 0.0], atol=SAME)
        assert_allclose(placed['arm/right'][:3, 3], [0.0, -0.06, 0.0], atol=SAME)


@pytest.mark.parametrize('wanted', [False, True])
def test_mimic_joints_move_and_the_base_on_request(ros, wanted):
    parameters = {
        'robot_description': GRIPPER,
        'root_joint': 'floating',
        'publish_tf': True,
        'publish_base_tf': wanted,
    }
    odometry = Odometry(child_frame_id='base')
    odometry.header.frame_id = 'odom'
    odometry.pose.pose.orientation.w = 1.0
    odometry.pose.pose.position.x = 2.0

    def tell():
        odometry.header.stamp = ros.next_stamp(0.0)
        ros.publish('/odom', odometry)

    with running('kinematics_node', DOMAIN, parameters):
        moving, fixed = heard(ros, also=tell)
        assert edges(fixed) == {'mount': 'base', 'tip': 'left'}
        joints = {'palm': 'mount', 'left': 'palm', 'right': 'palm'}
        assert edges(moving) == ({'base': 'odom'} if wanted else {}) | joints
        placed = matrices(moving)
        assert_allclose(placed['left'][:3, 3], [0.0, 0.03, 0.0], atol=SAME)
        assert_allclose(placed['right'][:3, 3], [0.0, -0.04, 0.0], atol=SAME)
        assert_allclose(placed['palm'][:3, 3], [0.0, 0.0, 0.3], atol=SAME)
        assert_allclose(matrices(fixed)['mount'][:3, 3], [0.1, 0.0, 0.2], atol=SAME)
        if wanted:
            assert_allclose(placed['base'][:3, 3], [2.0, 0.0, 0.0], atol=SAME)
