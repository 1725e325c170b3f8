# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The way of a joint state through a node: from bytes, and at a rate of each output."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from numpy.testing import assert_allclose
from rclpy.serialization import serialize_message
from ros_harness import client, description, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot

pytestmark = pytest.mark.ros

DOMAIN = 86
SAME = 1e-12

ARM = description()
ROBOT = Robot.from_urdf(ARM)
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])


@pytest.fixture(scope='module')
def ros():
    with client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def node(ros):
    with running('dynamics_ros', DOMAIN, {'robot_description': ARM}) as process:
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        ros.exchange(at_q(ros), torques)
        yield process


def at_q(ros) -> JointState:
    return ros.joint_state(NAMES, Q, np.zeros(7), ROBOT.gravity(Q))


def refused(ros) -> dict[str, int]:
    values = ros.values('dynamics_node')
    return {k.removeprefix('refused: '): int(v) for k, v in values.items() if 'refused: ' in k}


def test_bytes_that_are_no_joint_state_are_refused_and_counted_and_the_node_goes_on(ros, node):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.publish_joint_state(at_q(ros))  # makes the publisher
    good = serialize_message(at_q(ros))
    lengths = good[:12] + b'\xff' * (len(good) - 12)
    broken = [good[:20], b'', good[:3], lengths, bytes(4), b'\0\1\0\0' + bytes(2**20)]
    before = refused(ros).get('malformed bytes', 0)

    def send():
        for data in broken:
            ros.publish('/joint_states', at_q(ros))
            ros._publishers['/joint_states'].publish(data)

    ros.wait_for(
        lambda: refused(ros).get('malformed bytes', 0) >= before + len(broken),
        meanwhile=send,
        period=0.2,
    )
    answer = ros.exchange(at_q(ros), torques)
    assert_allclose(answer.effort, ROBOT.gravity(Q), atol=SAME)
    assert 'unexpected' not in node.printed
