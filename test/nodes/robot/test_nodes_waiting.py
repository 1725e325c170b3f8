# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a silent node waits for: which topic, and whether anybody publishes it."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from rclpy.qos import QoSProfile, qos_profile_sensor_data
from ros_harness import LATCHED, client, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from urdf_texts import pendulum

pytestmark = pytest.mark.ros

DOMAIN = 58
STATES = '/arm/states'
NODE = 'left/dynamics_node'


@pytest.fixture
def ros():
    with client(DOMAIN) as one:
        yield one


def node(parameters=None):
    remaps = {'joint_states': STATES}
    return running('dynamics_node', DOMAIN, parameters, namespace='/left', remaps=remaps)


def test_a_node_without_a_robot_says_who_publishes_descriptions(ros):
    topic = '/left/robot_description'
    with node():
        ros.wait_for_status(NODE, f'waiting for robot_description: {topic} has no publisher')
        # What is published once, by a publisher that does not keep it, comes too early or too late.
        ros.publish(topic, String(data=pendulum('early')), QoSProfile(depth=1))
        told = f'{topic} has 1 publisher that cannot be heard here ('
        assert 'olatile' in ros.wait_for_status(NODE, told).message
        keeps = ros.node.create_publisher(String, topic, LATCHED)
        keeps.publish(String(data=pendulum('late')))
        ros.wait_for_status(NODE, 'waiting for swing')


def test_a_node_without_joint_states_says_who_publishes_them(ros):
    swing = JointState(name=['swing'], position=[0.1])
    with node({'robot_description': pendulum('arm')}):
        waiting = f'silent: waiting for swing: {STATES} has'
        ros.wait_for_status(NODE, f'{waiting} no publisher, no message so far')
        wrong = ros.node.create_publisher(String, STATES, 1)
        told = ros.wait_for_status(NODE, f'{waiting} 1 publisher that cannot be heard here').message
        assert 'it is of std_msgs/msg/String, not sensor_msgs/msg/JointState' in told
        ros.node.destroy_publisher(wrong)
        one = ros.node.create_publisher(JointState, STATES, qos_profile_sensor_data)
        two = ros.node.create_publisher(JointState, STATES, 10)
        ros.wait_for_status(NODE, f'{waiting} 2 publishers, no message so far')
        ros.node.destroy_publisher(two)
        other = JointState(name=['elbow', 'swing'], velocity=[0.0, 0.0])
        lacking = f'{waiting} 1 publisher, messages so far lack their positions'
        ros.wait_for_status(NODE, lacking, meanwhile=lambda: one.publish(other))
        ros.wait_for_status(NODE, 'publishing to', meanwhile=lambda: one.publish(swing))
        # Silent, and still there; then gone.
        stopped = f'joint_states have stopped coming: {STATES} has'
        ros.wait_for_status(NODE, f'{stopped} 1 publisher')
        ros.node.destroy_publisher(one)
        ros.wait_for_status(NODE, f'{stopped} no publisher')


def test_a_publisher_whose_messages_are_not_taken_is_told_with_the_reason(ros):
    reliable = {f'qos_overrides.{STATES}.subscription.reliability': 'reliable'}
    ros.node.create_publisher(JointState, STATES, qos_profile_sensor_data)
    with node({'robot_description': pendulum('arm')} | reliable):
        told = f'{STATES} has 1 publisher that cannot be heard here ('
        assert 'est effort' in ros.wait_for_status(NODE, told).message
        # Another one, as reliable as asked for, is heard; how many there are still counts both.
        ros.node.create_publisher(JointState, STATES, 10)
        ros.wait_for_status(NODE, f'{STATES} has 2 publishers, no message so far')


def test_a_base_without_odometry_says_who_publishes_it(ros):
    with node({'robot_description': pendulum('dog'), 'root_joint': 'floating'}):
        ros.wait_for_status(NODE, 'waiting for odom, swing: ')
        swing = JointState(name=['swing'], position=[0.1])
        ros.wait_for_status(
            NODE,
            'waiting for odom: /left/odom has no publisher',
            meanwhile=lambda: ros.publish_joint_state(swing, STATES),
        )
