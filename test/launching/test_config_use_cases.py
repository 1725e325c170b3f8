# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The files of config/ on the robots that they are for: two arms of one model, and a quadruped."""

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
from std_msgs.msg import Float64MultiArray

from dynamics_ros import Robot
from dynamics_ros.wire.conversions import pose_matrix, pose_message
from dynamics_ros_msgs.msg import FootContacts

pytestmark = pytest.mark.ros

DOMAIN = 74
CONFIG = Path(__file__).parents[2] / 'config'
HANDS = 'left_gripper', 'right_gripper'
FEET = 'LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT'
LOCKED = ('head_pan', 'l_gripper_l_finger_joint', 'r_gripper_l_finger_joint')
COMMANDS = '/dynamics_node/gravity_commands'

# A pose goes through a quaternion and back.
SAME = 1e-12


def described(name: str) -> str:
    """A robot of example-robot-data."""
    files = importlib.metadata.files('example-robot-data') or ()
    file = next(file for file in files if file.name == name)
    return Path(str(file.locate())).read_text()


@pytest.mark.parametrize(
    ('config', 'name', 'root', 'frames', 'others'),
    [
        (
            *('two_arms.yaml', 'baxter.urdf', 'fixed', HANDS),
            {COMMANDS: Float64MultiArray}
            | {f'/contact_node/{hand}/wrench': WrenchStamped for hand in HANDS},
        ),
        (
            *('quadruped.yaml', 'anymal.urdf', 'floating', FEET),
            {'/contact_node/foot_contacts': FootContacts},
        ),
    ],
    ids=['two arms', 'quadruped'],
)
def test_all_frames_have_their_outputs(tmp_path, config, name, root, frames, others):
    urdf = described(name)
    locked = dict.fromkeys(LOCKED, 0.0) if root == 'fixed' else {}
    robot = Robot.from_urdf(urdf, root, locked_joints=locked)
    q, base = (
        robot.random_configuration(np.random.default_rng(4)),
        robot.nv - len(robot.joint_names),
    )
    odometry = Odometry(child_frame_id=robot.body_names[0])
    odometry.header.frame_id = 'odom'
    if base:
        odometry.pose.pose = pose_message(robot.forward_kinematics(q, robot.body_names[0]))
    description = tmp_path / 'description.yaml'
    quoted = urdf.replace("'", "''")
    description.write_text(
        f"/**:\n  ros__parameters:\n    autostart: true\n    robot_description: '{quoted}'\n"
    )
    files = (CONFIG / config, description)
    arguments = [word for file in files for word in ('--params-file', str(file))]
    node = NodeProcess('dynamics_ros', DOMAIN, ['--ros-args', *arguments])
    with client(DOMAIN) as one:
        poses = {x: one.listen(PoseStamped, f'/kinematics_node/{x}/pose') for x in frames}
        received = {topic: one.listen(kind, topic) for topic, kind in others.items()}

        def tell() -> None:
            effort, joints = robot.gravity(q)[base:], q[robot.nq - len(robot.joint_names) :]
            state = one.joint_state(robot.joint_names, joints, 0.0 * joints, effort)
            odometry.header.stamp = state.header.stamp
            one.publish('/odom', odometry)
            one.publish_joint_state(state)

        try:
            one.wait_for(lambda: all([*poses.values(), *received.values()]), meanwhile=tell)
            for frame, messages in poses.items():
                expected = robot.forward_kinematics(q, frame)
                assert_allclose(pose_matrix(messages[-1].pose, 'pose'), expected, atol=SAME)
                assert messages[-1].header.frame_id == ('odom' if base else robot.root_frame)
            if base:
                assert received['/contact_node/foot_contacts'][-1].feet == list(frames)
            else:
                gravity = dict(zip(robot.joint_names, robot.gravity(q), strict=True))
                left = [x for joint, x in gravity.items() if joint.startswith('left')]
                assert_allclose(received[COMMANDS][-1].data[:7], left, atol=1e-9)
        finally:
            node.close()
