# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""contact_node with a calibration takes no lean for zero, and no dither of encoders for motion."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import NAMES, ROBOT, Q
from ros_harness import client, description, running
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

pytestmark = pytest.mark.ros

DOMAIN = 229
NODE = 'contact_node'
STILL = np.zeros(len(NAMES))
DITHER = 0.1
"""rad/s: a step of 1e-4 rad to and fro, a thousand times a second."""


@pytest.fixture(scope='module')
def ros():
    parameters = {
        'robot_description': description(),
        'frames': ['tool0'],
        'tare.window': 0.2,
        'unexplained.speed': [0.01],
        'unexplained.standing': [0.5],
    }
    with running(NODE, DOMAIN, parameters), client(DOMAIN) as one:
        yield one


def hold(ros, external):
    """Publish an arm at rest, whose encoders dither, until external torques have followed."""
    torques = ros.listen(JointState, '/contact_node/external_torques')
    for k in range(400):
        v = STILL + DITHER * (-1.0) ** k
        effort = ROBOT.gravity(Q) - external
        ros.exchange(ros.joint_state(NAMES, Q, v, effort, step=0.001), torques)
    return torques


def test_a_lean_is_refused_by_joint_and_what_the_model_may_leave_is_taken(ros):
    push = ROBOT.jacobian(Q, 'tool0').T @ np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    hold(ros, push)
    refused = ros.call(Trigger, '/contact_node/tare', Trigger.Request())
    assert not refused.success
    joint, _, words = refused.message.partition(': ')
    assert joint in NAMES and abs(push[NAMES.index(joint)]) > 1.0
    assert 'something touches the robot' in words
    bias = np.array([0.4, -0.3, 0.3, -0.2, 0.1, 0.1, 0.05])
    torques = hold(ros, bias)
    assert np.abs(np.array(torques[-1].effort) - bias).max() < 0.3
    taken = ros.call(Trigger, '/contact_node/tare', Trigger.Request())
    assert taken.success, taken.message
