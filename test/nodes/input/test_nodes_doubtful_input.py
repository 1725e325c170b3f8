# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots and joint states that are not what they seem are told in the log and in diagnostics."""

from __future__ import annotations

import math
import re

import pytest

pytest.importorskip('rclpy')

from ros_harness import LATCHED, description, running
from std_msgs.msg import String
from urdf_texts import pendulum

DOMAIN = 108
BROKEN = (math.nan, math.inf, -math.inf)
LIMITED = '<limit lower="-2" upper="2" velocity="1" effort="10"/>'


@pytest.fixture(scope='module')
def process(ros):
    with running('dynamics_ros', DOMAIN) as one:
        yield one


def pretend(ros, urdf):
    """Have the nodes take a robot; its name is how one sees it."""
    name = re.search('robot name="(.*?)"', urdf).group(1)
    ros.publish('/robot_description', String(data=urdf), LATCHED)
    ros.wait_for(lambda: ros.values('dynamics_node').get('robot') == name)


def send(ros, **positions):
    still = [0.0] * len(positions)
    message = ros.joint_state(list(positions), list(positions.values()), still, still)
    ros.publish_joint_state(message)


def warned(process, text):
    """How often the log warns of something."""
    return sum(text in line for line in process.printed.splitlines() if '[WARN]' in line)


def test_a_robot_without_inertias(ros, process):
    bare = re.sub('<inertial>.*?</inertial>', '', description(), flags=re.DOTALL)
    bare = bare.replace('seven_joint_arm', 'bare')
    pretend(ros, bare)
    ros.wait_for(
        lambda: (
            "no mass is given for 'shoulder_link'"
            in ros.values('kinematics_node').get('warnings about the description', '')
        )
    )
    ros.wait_for(lambda: warned(process, "robot 'bare': no mass is given for 'shoulder_link'"))
    joints = dict.fromkeys(re.findall('<joint name="(.*?)" type="revolute"', bare), 0.1)
    for node in ('dynamics_node', 'contact_node'):
        status = ros.wait_for_status(
            node, 'no mass is given', meanwhile=lambda: send(ros, **joints)
        )
        assert 'publishing; ' in status.message and status.level == status.WARN
    ros.wait_for_status('kinematics_node', 'to subscribers', meanwhile=lambda: send(ros, **joints))


def test_degrees_for_radians(ros, process):
    pretend(ros, pendulum('limited').replace('continuous', 'revolute').replace(
        '</joint>', LIMITED + '</joint>'
    ))  # fmt: skip
    told = 'swing is at 45 (limits -2 to 2 rad; degrees?)'
    for node in ('kinematics_node', 'dynamics_node', 'contact_node'):
        status = ros.wait_for_status(node, told, meanwhile=lambda: send(ros, swing=45.0))
        assert status.level == status.WARN
    ros.wait_for(lambda: warned(process, told), meanwhile=lambda: send(ros, swing=45.0))
    # Another value is nothing new, and what is right ends it.
    for _ in range(2):
        ros.wait_for_report('contact_node', meanwhile=lambda: send(ros, swing=46.0))
    assert warned(process, 'limits -2 to 2') == 1
    ros.wait_for_status('dynamics_node', 'to subscribers', meanwhile=lambda: send(ros, swing=0.8))


def test_joint_names_of_another_robot(ros, process):
    pretend(ros, pendulum('named').replace('swing', 'hinge'))
    told = "robot 'named' does not have: elbow, wrist"
    ros.wait_for(
        lambda: warned(process, f'{told}; they do not name hinge'),
        meanwhile=lambda: send(ros, elbow=0.0, wrist=0.0),
    )
    ros.wait_for_status('kinematics_node', told, meanwhile=lambda: send(ros, elbow=0.0))
    assert int(ros.values('kinematics_node')['ignored joint: elbow']) > 0
    assert warned(process, 'they do not name hinge') == 1


@pytest.mark.parametrize(
    ('cause', 'spoil'),
    [
        ('stamp: 1', lambda m, k: setattr(m.header.stamp, 'nanosec', 10**9 + k)),
        ('wrong length of position: ', lambda m, k: setattr(m, 'position', [0.1] * (2 + k % 3))),
        ('repeated names: ', lambda m, k: setattr(m, 'name', ['swing', f'x{k}', f'x{k}'])),
        ('position of swing not finite', lambda m, k: m.position.__setitem__(0, BROKEN[k % 3])),
    ],
)
def test_a_cause_is_logged_when_it_begins_and_ends_whatever_its_figures(ros, process, cause, spoil):
    pretend(ros, pendulum('spoilt'))
    lines = lambda: [line for line in process.printed[start:].splitlines() if cause in line]  # noqa: E731
    start, number = len(process.printed), 0

    def send_both():
        nonlocal number
        bad, number = ros.joint_state(['swing'], [0.1]), number + 1
        spoil(bad, number)
        for message in (bad, ros.joint_state(['swing'], [0.1])):
            ros.publish_joint_state(message)

    ros.wait_for(lambda: number > 400, meanwhile=send_both)
    assert len(lines()) == 1 and '[WARN]' in lines()[0]
    ros.wait_for(lambda: len(lines()) > 1, meanwhile=lambda: send(ros, swing=0.1))
    assert 'no longer: ' in lines()[1] and ' times)' in lines()[1]
    assert cause != 'wrong length of position: ' or '2 to 4 values for 1 names' in lines()[1]
    ros.wait_for(lambda: len(lines()) > 2, meanwhile=send_both)
    assert '[WARN]' in lines()[2]


def test_a_normal_start_warns_of_nothing(ros):
    with running('robot_simulator', DOMAIN, namespace='/normal') as simulator:
        with running('dynamics_ros', DOMAIN, namespace='/normal') as nodes:
            for node in ('kinematics_node', 'dynamics_node', 'contact_node'):
                ros.wait_for_status(f'normal/{node}', 'publishing to subscribers')
                ros.wait_for(lambda: nodes.printed.count('publishing to subscribers') >= 3)
            # How busy this machine is, is another matter.
            assert nodes.printed.count('[WARN]') == nodes.printed.count('kernel is compiled')
        assert simulator.printed.count('[WARN]') == simulator.printed.count('too slow')
