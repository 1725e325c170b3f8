# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The topic gravity: what dynamics_node has in force, all other processes take from there."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Vector3Stamped
from ros_harness import LATCHED, client, description, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import SetGravity

pytestmark = pytest.mark.ros

DOMAIN = 76
ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
ZERO = np.zeros(ROBOT.nv)
WALL = (6.0, 1.0, -7.0)
MOON = (0.0, 0.0, -1.62)
PARAMETERS = {'robot_description': description()}


@pytest.fixture(scope='module')
def ros():
    with running('dynamics_node', DOMAIN, PARAMETERS), client(DOMAIN) as one:
        one.wait_for_status('dynamics_node', 'waiting for')
        yield one


def put_in_force(ros, gravity, frame_id=''):
    request = SetGravity.Request()
    request.gravity.header.frame_id = frame_id
    request.gravity.vector.x, request.gravity.vector.y, request.gravity.vector.z = gravity
    return ros.call(SetGravity, '/dynamics_node/set_gravity', request).result


def told(gravity, frame_id='') -> Vector3Stamped:
    message = Vector3Stamped()
    message.header.frame_id = frame_id
    message.vector.x, message.vector.y, message.vector.z = gravity
    return message


def at_rest(ros, gravity):
    """A joint state of a robot that holds itself in that gravity."""
    effort = ROBOT.with_gravity(gravity).gravity(Q)
    ros.publish_joint_state(ros.joint_state(NAMES, Q, ZERO, effort, step=0.02))


def test_what_is_in_force_is_told_and_told_again_to_whoever_comes_later(ros):
    assert put_in_force(ros, WALL, 'base_link').code == Result.SUCCESS
    for _ in range(2):
        heard = ros.listen(Vector3Stamped, '/gravity', LATCHED)
        ros.wait_for(lambda heard=heard: heard)
        vector = heard[-1].vector
        assert (vector.x, vector.y, vector.z) == WALL
        assert heard[-1].header.frame_id == 'base_link'


@pytest.mark.parametrize('node', ['contact_node', 'kinematics_node', 'cartesian_servo_node'])
def test_a_node_of_its_own_follows_from_its_start_on(ros, node):
    assert put_in_force(ros, WALL).code == Result.SUCCESS
    with running(node, DOMAIN, PARAMETERS):
        for gravity in (WALL, MOON):
            assert put_in_force(ros, gravity).code == Result.SUCCESS
            ros.wait_for(
                lambda gravity=gravity: tuple(ros.get_parameter(node, 'gravity')) == gravity
            )
        # What the root frame is called is known with the robot.
        ros.wait_for(lambda: ros.status(node).hardware_id == ROBOT.name)
        # Gone with the test: a node of the next one would hear two latched messages, in any order.
        with client(DOMAIN, 'another_teller') as other:
            refused = {
                'gravity.vector': told((0.0, float('nan'), 0.0)),
                'base_link': told(WALL, 'tool0'),
            }
            for words, message in refused.items():
                ros.wait_for(
                    lambda words=words: words in ros.values(node).get('refused change', ''),
                    meanwhile=lambda message=message: other.publish('/gravity', message, LATCHED),
                )
            assert tuple(ros.get_parameter(node, 'gravity')) == MOON
            other.publish('/gravity', told(WALL, 'base_link'), LATCHED)
            ros.wait_for(lambda: tuple(ros.get_parameter(node, 'gravity')) == WALL)
            ros.wait_for(lambda: 'refused change' not in ros.values(node))


def test_a_contact_node_of_its_own_feels_nothing_in_another_gravity(ros):
    torques = ros.listen(JointState, '/contact_node/external_torques')
    assert put_in_force(ros, WALL).code == Result.SUCCESS
    with running('contact_node', DOMAIN, PARAMETERS | {'observer.transition_time': 0.0}):
        for gravity in (WALL, MOON):
            assert put_in_force(ros, gravity).code == Result.SUCCESS
            torques.clear()
            ros.wait_for(
                lambda: torques and np.abs(torques[-1].effort).max() < 1e-6,
                meanwhile=lambda gravity=gravity: at_rest(ros, gravity),
            )


def test_a_node_with_a_source_of_its_own_follows_that(ros):
    source = {'gravity_source': {'kind': 'imu'}}
    with running('contact_node', DOMAIN, PARAMETERS | source, namespace='/own'):
        ros.wait_for(lambda: ros.node.count_subscribers('/own/imu'))
        ros.wait_for(lambda: ros.node.count_subscribers('/own/payload'))
        assert ros.node.count_subscribers('/own/gravity') == 0


def test_one_name_for_three_nodes_is_refused_by_name():
    with running('dynamics_ros', DOMAIN, PARAMETERS, remaps={'__node': 'arm'}) as process:
        assert process.wait() == 1
        lines = [line for line in process.printed.splitlines() if 'cannot start' in line]
        assert len(lines) == 1
        assert '__node:=arm' in lines[0] and 'kinematics_node:__node:=' in lines[0]
        assert 'Traceback' not in process.printed


def test_two_nodes_are_not_given_one_name_one_by_one_either():
    remaps = {'kinematics_node:__node': 'arm', 'contact_node:__node': 'arm'}
    with running('dynamics_ros', DOMAIN, PARAMETERS, remaps=remaps) as process:
        assert process.wait() == 1
        assert '__node:=arm' in process.printed


def test_a_node_of_the_composed_process_can_be_renamed(ros):
    remaps = {'contact_node:__node': 'skin'}
    with running('dynamics_ros', DOMAIN, PARAMETERS, remaps=remaps, namespace='/renamed'):
        for node in ('skin', 'dynamics_node', 'kinematics_node'):
            ros.wait_for_status(f'renamed/{node}', 'waiting for')
