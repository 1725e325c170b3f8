# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mutated joint states: each is refused with a reason or read as the middleware reads it.

`--thorough` takes many more of them than a run of the whole suite does.
"""

from __future__ import annotations

import random
import time
from collections import Counter

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from mutations import mutated_bytes
from numpy.testing import assert_allclose
from patience import times
from rclpy.qos import qos_profile_sensor_data
from rclpy.serialization import deserialize_message, serialize_message
from ros_harness import client, description, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.estimation.samples.resolution import RefusedMessage
from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.wire.cdr import JointStateReader, MalformedMessageError
from dynamics_ros.wire.conversions import joint_values, pose_matrix

DOMAIN = 72

HANG = 1.0
"""Seconds of processor time after which a message counts as one that hangs."""

MESSAGES, FUZZED_MESSAGES = 3000, 100_000
SENT, FUZZED_SENT = 500, 20_000

ARM = description()
ROBOT = Robot.from_urdf(ARM)
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])

NUMBERS = (0.0, -0.0, 1.0, 1e-320, 1e308, -1e308, float('nan'), float('inf'), float('-inf'))


def joint_state(chance: random.Random) -> JointState:
    """A good one of this robot, whole or in part."""
    names = chance.choice((NAMES, NAMES[:3], NAMES[::-1], [*NAMES, 'gripper']))
    message = JointState(name=list(names))
    message.header.frame_id = chance.choice(('', 'base_link'))
    message.header.stamp = Time(sec=chance.randrange(2**31), nanosec=chance.randrange(10**9))
    message.position = [chance.gauss(0.0, 1.0) for _ in names]
    message.velocity = [chance.gauss(0.0, 1.0) for _ in names] if chance.random() < 0.8 else []
    message.effort = [chance.gauss(0.0, 9.0) for _ in names] if chance.random() < 0.8 else []
    return message


def mutated_message(chance: random.Random) -> JointState:
    """One with other names, lengths and numbers; what a broken driver would send."""
    message = joint_state(chance)
    for _ in range(chance.choice((1, 1, 2, 3))):
        field = chance.choice(('name', 'position', 'velocity', 'effort'))
        values = list(getattr(message, field))
        other = chance.choice((*NAMES, '', 'x' * 999, 'a/b', '..', 'ü', 'odom', 'joint1 '))
        number = chance.choice(NUMBERS)
        place = chance.randrange(len(values) + 1)
        how = chance.randrange(4)
        if how == 0:
            values[place : place + 1] = [other if field == 'name' else number]
        elif how == 1:
            del values[place:]
        elif how == 2:
            values.insert(place, other if field == 'name' else number)
        else:
            values *= chance.choice((2, 50))
        setattr(message, field, values)
    message.header.stamp = Time(
        sec=chance.choice((0, -(2**31), 2**31 - 1, chance.randrange(2**31))),
        nanosec=chance.choice((0, 999_999_999, 2**32 - 1)),
    )
    return message


def same(one: JointValues, other: JointValues) -> bool:
    return one[:3] == other[:3] and all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(one[3:6], other[3:6], strict=True)
    )


def check_taken(buffer: StateBuffer, values: JointValues, seed: int) -> bool:
    """Whether a buffer takes what a message says; if so, it has those very numbers."""
    try:
        known = buffer.update(values)
    except RefusedMessage as refusal:
        reason = str(refusal)
    else:
        reason = ''
    if reason:
        assert len(reason) > 10, f'seed {seed}: refused without a reason'
        return False
    state = buffer.due_state()  # none for what is older than what is known
    if state is not None:
        for array in (state.q, state.v, state.effort):
            assert np.isfinite(array).all(), f'seed {seed}'
        for name, position in zip(values.names, values.position, strict=False):
            if name not in ROBOT.joint_q_indices:
                continue
            if not np.isfinite(position):  # not reported, and makes a state of a late message
                assert name in buffer.not_finite, f'seed {seed}'
            elif buffer.timeline.due:
                assert state.q[ROBOT.joint_q_indices[name]] == position, f'seed {seed}'
    return known


def new_buffer() -> StateBuffer:
    buffer = StateBuffer(ROBOT, (), 1.0)
    buffer.update(joint_values(JointState(name=NAMES, position=Q.tolist())))
    return buffer


def test_messages_are_refused_or_taken_as_they_are() -> None:
    buffer, outcomes = new_buffer(), Counter[bool]()
    for seed in range(times(MESSAGES, FUZZED_MESSAGES)):
        values = joint_values(mutated_message(random.Random(seed)))
        began = time.process_time()
        outcomes[check_taken(buffer, values, seed)] += 1
        assert time.process_time() - began < HANG, f'seed {seed}'
    assert min(outcomes[True], outcomes[False]) > 0.05 * outcomes.total()


def test_bytes_are_refused_or_read_as_the_middleware_reads_them() -> None:
    reader, buffer, outcomes = JointStateReader(), new_buffer(), Counter[bool]()
    for seed in range(times(MESSAGES, FUZZED_MESSAGES)):
        chance = random.Random(seed)
        data = mutated_bytes(serialize_message(joint_state(chance)), chance)
        began = time.process_time()
        try:
            values = reader.read(data)
        except MalformedMessageError:
            values = None
        assert time.process_time() - began < HANG, f'seed {seed}'
        outcomes[values is not None] += 1
        if values is None:
            continue
        try:
            wanted = joint_values(deserialize_message(data, JointState))
        except Exception as refusal:
            pytest.fail(f'seed {seed}: the middleware refuses what is read here: {refusal}')
        assert same(values, wanted), f'seed {seed}'
        check_taken(buffer, values, seed)
    assert min(outcomes[True], outcomes[False]) > 0.05 * outcomes.total()


@pytest.mark.ros
def test_nodes_outlive_whatever_is_sent_and_are_right_again() -> None:
    with (
        running('dynamics_ros', DOMAIN, {'robot_description': ARM}),
        client(DOMAIN) as one,
    ):
        poses = one.listen(PoseStamped, '/kinematics_node/tool0/pose')
        one.exchange(one.joint_state(NAMES, Q), poses)
        publisher = one.node.create_publisher(JointState, '/joint_states', qos_profile_sensor_data)
        one.wait_for(lambda: publisher.get_subscription_count() > 0)
        for seed in range(times(SENT, FUZZED_SENT)):
            chance = random.Random(seed)
            data = serialize_message(joint_state(chance))
            publisher.publish(mutated_bytes(data, chance))
            if seed % 50 == 0:
                # Whatever came before, a good state is answered rightly; and nothing piles up.
                pose = one.exchange(one.joint_state(NAMES, Q), poses)
                assert_allclose(
                    pose_matrix(pose.pose, 'pose'),
                    ROBOT.forward_kinematics(Q, 'tool0'),
                    atol=1e-12,  # through a quaternion and back
                )
        one.wait_for(lambda: any('refused' in key for key in one.values('kinematics_node')))
