# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots and joint states that are not what they seem are told in the log and in diagnostics."""

from __future__ import annotations

import re

import pytest

pytest.importorskip('rclpy')

from rclpy.qos import qos_profile_sensor_data
from ros_harness import LATCHED, client, description, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from urdf_texts import pendulum

DOMAIN = 108
LIMITED = '<limit lower="-2" upper="2" velocity="1" effort="10"/>'


@pytest.fixture(scope='module')
def user():
    with client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def process(user):
    with running('dynamics_ros', DOMAIN) as one:
        yield one


def pretend(user, urdf):
    """Have the nodes take a robot; its name is how one sees it."""
    name = re.search('robot name="(.*?)"', urdf).group(1)
    user.publish('/robot_description', String(data=urdf), LATCHED)
    user.wait_for(lambda: user.values('dynamics_node').get('robot') == name)


def send(user, **positions):
    still = [0.0] * len(positions)
    message = user.joint_state(list(positions), list(positions.values()), still, still)
    user.publish_joint_state(message)


def warned(process, text):
    """How often the log warns of something."""
    return sum(text in line for line in process.printed.splitlines() if '[WARN]' in line)


def test_a_robot_without_inertias(user, process):
    bare = re.sub('<inertial>.*?</inertial>', '', description(), flags=re.DOTALL)
    bare = bare.replace('seven_joint_arm', 'bare')
    pretend(user, bare)
    user.wait_for(
        lambda: (
            "no mass is given for 'shoulder_link'"
            in user.values('kinematics_node').get('warnings about the description', '')
        )
    )
    user.wait_for(lambda: warned(process, "robot 'bare': no mass is given for 'shoulder_link'"))
    joints = dict.fromkeys(re.findall('<joint name="(.*?)" type="revolute"', bare), 0.1)
    for node in ('dynamics_node', 'contact_node'):
        status = user.wait_for_status(
            node, 'no mass is given', meanwhile=lambda: send(user, **joints)
        )
        assert 'publishing; ' in status.message and status.level == status.WARN
    user.wait_for_status(
        'kinematics_node', 'to subscribers', meanwhile=lambda: send(user, **joints)
    )


def test_degrees_for_radians(user, process):
    pretend(user, pendulum('limited').replace('continuous', 'revolute').replace(
        '</joint>', LIMITED + '</joint>'
    ))  # fmt: skip
    told = 'swing is at 45 (limits -2 to 2 rad; degrees?)'
    for node in ('kinematics_node', 'dynamics_node', 'contact_node'):
        status = user.wait_for_status(node, told, meanwhile=lambda: send(user, swing=45.0))
        assert status.level == status.WARN
    user.wait_for(lambda: warned(process, told), meanwhile=lambda: send(user, swing=45.0))
    # Another value is nothing new, and what is right ends it.
    for _ in range(2):
        user.wait_for_report('contact_node', meanwhile=lambda: send(user, swing=46.0))
    assert warned(process, 'limits -2 to 2') == 1
    user.wait_for_status('dynamics_node', 'to subscribers', meanwhile=lambda: send(user, swing=0.8))


def test_joint_names_of_another_robot(user, process):
    pretend(user, pendulum('named').replace('swing', 'hinge'))
    told = "robot 'named' does not have: elbow, wrist"
    user.wait_for(
        lambda: warned(process, f'{told}; they do not name hinge'),
        meanwhile=lambda: send(user, elbow=0.0, wrist=0.0),
    )
    user.wait_for_status('kinematics_node', told, meanwhile=lambda: send(user, elbow=0.0))
    assert int(user.values('kinematics_node')['ignored joint: elbow']) > 0
    assert warned(process, 'they do not name hinge') == 1


def test_a_normal_start_warns_of_nothing(user):
    with running('robot_simulator', DOMAIN, namespace='/normal') as simulator:
        with running('dynamics_ros', DOMAIN, namespace='/normal') as nodes:
            for node in ('kinematics_node', 'dynamics_node', 'contact_node'):
                user.wait_for_status(f'normal/{node}', 'publishing to subscribers')
                user.wait_for(lambda: nodes.printed.count('publishing to subscribers') == 3)
            assert '[WARN]' not in nodes.printed
        # How busy this machine is, is another matter.
        assert simulator.printed.count('[WARN]') == simulator.printed.count('too slow')


def test_publishers_that_contradict_each_other(user, process):
    pretend(user, pendulum('twice'))
    second = user.node.create_publisher(JointState, '/joint_states', qos_profile_sensor_data)
    told = 'positions jump back and forth: swing between 0.2 and 0.9 rad; /joint_states has 2 publ'

    def contradict():
        for _ in range(4):
            send(user, swing=0.2)
            second.publish(user.joint_state(['swing'], [0.9], [0.0], [0.0]))

    for node in ('kinematics_node', 'contact_node'):
        status = user.wait_for_status(node, told, meanwhile=contradict)
        assert status.level == status.WARN
        assert 'of which only one may report a joint' in status.message
        assert status.message.startswith('silent') == (node == 'contact_node')
    assert warned(process, told) == 1
    user.node.destroy_publisher(second)
    user.wait_for_status('dynamics_node', 'to subscribers', meanwhile=lambda: send(user, swing=0.2))
