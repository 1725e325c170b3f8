# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""control_msgs/DynamicJointState in place of joint states, where a parameter asks for it."""

from __future__ import annotations

import signal

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('control_msgs')

from control_msgs.msg import DynamicJointState, InterfaceValue
from numpy.testing import assert_allclose
from ros_harness import client, description, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot

pytestmark = pytest.mark.ros

DOMAIN = 79
ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
Q = [0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1]


def message(ros, **changed):
    """A state of all joints, of a wheel without a position and of a sensor."""
    told = DynamicJointState(joint_names=[*NAMES, 'wheel', 'sensor'])
    told.header.stamp = ros.next_stamp()
    told.interface_values = [
        InterfaceValue(interface_names=['temperature', 'position'], values=[30.0, q]) for q in Q
    ]
    told.interface_values += [InterfaceValue(interface_names=['velocity'], values=[1.0])] * 2
    for name, value in changed.items():
        setattr(told, name, value)
    return told


def test_gravity_torques_follow_and_what_makes_no_sense_is_refused():
    parameters = {'robot_description': description(), 'joint_state_topic': 'dynamic_joint_states'}
    with running('dynamics_node', DOMAIN, parameters), client(DOMAIN) as ros:
        ros.wait_for_status('dynamics_node', '/dynamic_joint_states has no publisher')
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        ros.wait_for(
            lambda: torques,
            meanwhile=lambda: ros.publish('/dynamic_joint_states', message(ros)),
        )
        assert torques[-1].name == NAMES
        assert_allclose(torques[-1].effort, ROBOT.gravity(Q), atol=1e-12)
        ros.wait_for(
            lambda: any(key.startswith('refused') for key in ros.values('dynamics_node')),
            meanwhile=lambda: ros.publish(
                '/dynamic_joint_states', message(ros, joint_names=NAMES[:3])
            ),
        )


def test_of_those_that_waited_the_newest_is_answered():
    parameters = {'robot_description': description(), 'joint_state_topic': 'dynamic_joint_states'}
    with running('dynamics_node', DOMAIN, parameters) as process, client(DOMAIN) as ros:
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        ros.wait_for(
            lambda: torques,
            meanwhile=lambda: ros.publish('/dynamic_joint_states', message(ros)),
        )
        sent = []

        def send_some_at_once():
            # Again where the newest was lost on the way, as best effort allows.
            process.send(signal.SIGSTOP)
            sent[:] = [message(ros) for _ in range(20)]
            for one in sent:
                ros.publish('/dynamic_joint_states', one)
            process.send(signal.SIGCONT)

        ros.wait_for(
            lambda: sent and torques[-1].header.stamp == sent[-1].header.stamp,
            meanwhile=send_some_at_once,
            period=5.0,
        )
        assert 'unexpected error' not in process.printed
