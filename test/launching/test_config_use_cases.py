# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The YAML files of config/ for other robots than the packaged arm, on those robots."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped, WrenchStamped
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from ros_harness import NodeProcess, client
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import pose_matrix
from dynamics_ros_msgs.msg import FootContacts

pytestmark = pytest.mark.ros

DOMAIN = 74
CONFIG = Path(__file__).parents[2] / 'config'
LOCKED = ('head_pan', 'l_gripper_l_finger_joint', 'r_gripper_l_finger_joint')

# A pose goes through a quaternion and back.
SAME = 1e-12


def described(name: str) -> str:
    """A robot of example-robot-data."""
    for file in importlib.metadata.files('example-robot-data') or ():
        if file.name == name:
            return Path(str(file.locate())).read_text()
    raise FileNotFoundError(name)


def start(config: str, tmp_path: Path, urdf: str) -> NodeProcess:
    description = tmp_path / 'description.yaml'
    quoted = urdf.replace("'", "''")
    description.write_text(
        f"/**:\n  ros__parameters:\n    autostart: true\n    robot_description: '{quoted}'\n"
    )
    files = (CONFIG / config, description)
    arguments = [word for file in files for word in ('--params-file', str(file))]
    return NodeProcess('dynamics_ros', DOMAIN, ['--ros-args', *arguments])


def test_two_arms_have_one_model_and_outputs_for_both_hands(tmp_path: Path) -> None:
    urdf = described('baxter.urdf')
    robot = Robot.from_urdf(urdf, locked_joints=dict.fromkeys(LOCKED, 0.0))
    hands = ('left_gripper', 'right_gripper')
    q = robot.random_configuration(np.random.default_rng(4))
    node = start('two_arms.yaml', tmp_path, urdf)
    with client(DOMAIN) as one:
        try:
            poses = {
                hand: one.listen(PoseStamped, f'/kinematics_node/{hand}/pose') for hand in hands
            }
            wrenches = {
                hand: one.listen(WrenchStamped, f'/contact_node/{hand}/wrench') for hand in hands
            }
            commands = one.listen(Float64MultiArray, '/dynamics_node/gravity_commands')
            still = np.zeros(robot.nv)
            for hand in hands:
                state = one.joint_state(robot.joint_names, q, still, robot.gravity(q))
                pose = one.exchange(state, poses[hand])
                assert_allclose(
                    pose_matrix(pose.pose, 'pose'), robot.forward_kinematics(q, hand), atol=SAME
                )
            one.wait_for(
                lambda: all(wrenches.values()) and commands,
                meanwhile=lambda: one.publish_joint_state(
                    one.joint_state(robot.joint_names, q, still, robot.gravity(q))
                ),
            )
            gravity = dict(zip(robot.joint_names, robot.gravity(q), strict=True))
            left = [gravity[name] for name in robot.joint_names if name.startswith('left')]
            assert_allclose(commands[-1].data[:7], left, atol=1e-9)
        finally:
            node.close()


def test_a_quadruped_floats_and_has_four_feet(tmp_path: Path) -> None:
    urdf = described('anymal.urdf')
    robot = Robot.from_urdf(urdf, 'floating')
    q = robot.random_configuration(np.random.default_rng(5))
    odometry = Odometry(child_frame_id=robot.body_names[0])
    odometry.header.frame_id = 'odom'
    x, y, z, *quaternion = q[:7].tolist()
    position, orientation = odometry.pose.pose.position, odometry.pose.pose.orientation
    position.x, position.y, position.z = x, y, z
    orientation.x, orientation.y, orientation.z, orientation.w = quaternion
    feet = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')
    node = start('quadruped.yaml', tmp_path, urdf)
    with client(DOMAIN) as one:
        try:
            for foot in feet:
                poses = one.listen(PoseStamped, f'/kinematics_node/{foot}/pose')
                state = one.joint_state(robot.joint_names, q[7:], np.zeros(12), np.zeros(12))
                odometry.header.stamp = state.header.stamp

                def tell(state: JointState = state) -> None:
                    one.publish('/odom', odometry)
                    one.publish_joint_state(state)

                one.wait_for(lambda poses=poses: poses, meanwhile=tell)
                assert poses[-1].header.frame_id == 'odom'
                assert_allclose(
                    pose_matrix(poses[-1].pose, 'pose'),
                    robot.forward_kinematics(q, foot),
                    atol=SAME,
                )
            contacts = one.listen(FootContacts, '/contact_node/foot_contacts')

            carried = robot.gravity(q)[6:]

            def go_on() -> None:
                state = one.joint_state(robot.joint_names, q[7:], np.zeros(12), carried)
                odometry.header.stamp = state.header.stamp
                one.publish('/odom', odometry)
                one.publish_joint_state(state)

            one.wait_for(lambda: contacts, meanwhile=go_on, period=0.001)
            assert contacts[-1].feet == list(feet)
        finally:
            node.close()
