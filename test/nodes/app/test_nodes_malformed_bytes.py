# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bytes that are no message of their topic are refused, counted, and fill no log."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_harness import client, running
from sensor_msgs.msg import Imu
from std_msgs.msg import String

from dynamics_ros_msgs.msg import Payload

pytestmark = pytest.mark.ros

DOMAIN = 138

ENDLESS = b'\0\1\0\0' + b'\xff' * 12
"""Text of four gigabytes, or a stamp and nothing behind it."""

TOPICS = {'odom': Odometry, 'payload': Payload, 'robot_description': String, 'imu': Imu}
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_malformed_bytes_on_any_topic_are_counted_and_the_node_goes_on():
    parameters = {'robot_description': ARM, 'frames': ['tool0'], 'gravity_source.kind': 'imu'}
    with client(DOMAIN) as ros, running('kinematics_node', DOMAIN, parameters) as node:
        publishers = [
            ros.node.create_publisher(kind, f'/{topic}', LATCHED) for topic, kind in TOPICS.items()
        ]

        def counted() -> bool:
            told = ros.values('kinematics_node')
            return all(
                int(told.get(f'refused: malformed bytes on {topic}', 0)) > 2 for topic in TOPICS
            )

        ros.wait_for(
            counted, meanwhile=lambda: [publisher.publish(ENDLESS) for publisher in publishers]
        )
        poses = ros.listen(PoseStamped, '/kinematics_node/tool0/pose')
        ros.exchange(ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q)), poses)
        printed = node.printed
    assert 'rcutils' not in printed and 'Traceback' not in printed
    for topic in TOPICS:
        assert printed.count(f'message on {topic} refused') == 1
