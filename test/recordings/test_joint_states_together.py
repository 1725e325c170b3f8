# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states that are read and merged together say what they say one after the other."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.wire.cdr import JointStateReader, MalformedMessageError

pytestmark = pytest.mark.ros

COUNT = 40


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(urdf_path('ur5'))


def messages(names, told='pve', frame='', count=COUNT):
    rng = np.random.default_rng(3)
    found = []
    for k in range(count):
        message = JointState(name=list(names))
        message.header.frame_id = frame
        message.header.stamp.sec, message.header.stamp.nanosec = 5 + k // 10, k % 10 * 10**8
        for key, field in zip('pve', ('position', 'velocity', 'effort'), strict=True):
            if key in told:
                setattr(message, field, rng.normal(size=len(names)).tolist())
        found.append(bytes(serialize_message(message)))
    return found


@pytest.mark.parametrize('told', ['pve', 'pv', 'pe', 'p', ''])
@pytest.mark.parametrize('frame', ['', 'base'])
def test_they_are_read_as_one_by_one(robot, told, frame):
    data = messages(robot.joint_names, told, frame)
    together = JointStateReader().read_all(data)
    reader = JointStateReader()
    for k, one in enumerate(map(reader.read, data)):
        assert (together.names, together.time[k]) == (one.names, one.time)
        for field in ('position', 'velocity', 'effort'):
            np.testing.assert_array_equal(getattr(together, field)[k], getattr(one, field))


def test_those_of_other_joints_are_not_read_together(robot):
    data = messages(robot.joint_names)
    others = messages([name[::-1] for name in robot.joint_names])
    assert len(data[0]) == len(others[0])
    assert JointStateReader().read_all([*data, others[0]]) is None
    assert JointStateReader().read_all([*data, data[0][:-8]]) is None
    with pytest.raises(MalformedMessageError):
        JointStateReader().read_all([data[0][:30]] * 3)


@pytest.mark.parametrize('told', ['pve', 'pe', 'p'])
@pytest.mark.parametrize('more', [(), ('gripper',)])
def test_they_are_merged_as_one_by_one(robot, told, more):
    names = (*robot.joint_names[::-1], *more)
    data, reader = messages(names, told), JointStateReader()
    one, many = (StateBuffer(robot, (), joint_timeout=1.0) for _ in range(2))
    assert many.update_all(reader.read_all(data)) is None, 'nothing is known yet'
    expected = []
    for k, values in enumerate(map(reader.read, data)):
        one.update(values)
        expected.append(one.due_state())
        if k == 0:
            many.update(values)
    states = many.update_all(reader.read_all(data[1:]))
    assert states.size == COUNT - 1
    for k in range(states.size):
        for ours, theirs in zip(states.row(k), expected[k + 1], strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert many.unknown_names == one.unknown_names
    for ours, theirs in zip(many.state(), one.state(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
