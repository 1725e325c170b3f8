# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""contact_node with a calibration takes no lean for zero, and no dither of encoders for motion."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import NAMES, ROBOT, Q
from ros_harness import client, description, running
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from dynamics_ros.calibration.outputs import parameters_text

pytestmark = pytest.mark.ros

DOMAIN = 229
NODE = 'contact_node'
WINDOW = 250
"""Samples of 1 ms, more than ``tare.window`` holds."""

DITHER = np.where(np.arange(len(NAMES)) < len(NAMES) - 2, 0.0, 0.1)
"""rad/s: a step of 1e-4 rad of the wrist's encoders, to and fro a thousand times a second."""


@pytest.fixture(scope='module')
def ros(tmp_path_factory):
    file = tmp_path_factory.mktemp('calibration') / 'calibrated.yaml'
    file.write_text(
        parameters_text({'unexplained.speed': [0.01], 'unexplained.standing': [0.5]}, NAMES)
    )
    parameters = {
        'robot_description': description(),
        'frames': ['tool0'],
        'tare.window': 0.2,
        'calibration_file': str(file),
    }
    with running(NODE, DOMAIN, parameters), client(DOMAIN) as one:
        yield one


def hold(ros, external):
    """Publish an arm at rest, whose encoders dither, until external torques have followed."""
    torques = ros.listen(JointState, '/contact_node/external_torques')
    noise = np.random.default_rng(0)
    signs = itertools.cycle((1.0, -1.0))

    def live():
        for _ in range(10):
            v = DITHER * next(signs)
            effort = ROBOT.gravity(Q) - external + noise.normal(0.0, 0.01, len(NAMES))
            ros.publish_joint_state(ros.joint_state(NAMES, Q, v, effort, step=0.001))

    def followed():
        last = np.array([message.effort for message in torques[-WINDOW:]])
        return len(last) == WINDOW and np.abs(last - external).max() < 0.3

    ros.wait_for(followed, meanwhile=live, period=0.005)


def test_a_lean_is_refused_by_joint_and_what_the_model_may_leave_is_taken(ros):
    push = ROBOT.jacobian(Q, 'tool0').T @ np.array([20.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    hold(ros, push)
    refused = ros.call(Trigger, '/contact_node/tare', Trigger.Request())
    assert not refused.success
    joint, _, words = refused.message.partition(': ')
    assert joint in NAMES and abs(push[NAMES.index(joint)]) > 1.0
    assert 'something touches the robot' in words
    bias = np.array([0.4, -0.3, 0.3, -0.2, 0.1, 0.1, 0.05])
    hold(ros, bias)
    taken = ros.call(Trigger, '/contact_node/tare', Trigger.Request())
    assert taken.success, taken.message
