# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What outputs that follow from a stream of joint states are given: who listens, limits, doubts."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pytest.importorskip('rclpy')

from nodes_and_library import ARM, MILLISECOND, START, Nodes, Stream
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message

from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.kinematics_node import Kinematics
from dynamics_ros.nodes.outputs import Output
from dynamics_ros.nodes.process import Application
from dynamics_ros.wire.conversions import nanoseconds

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 166


def test_residuals_far_above_what_is_stated_are_told(tmp_path, monkeypatch):
    """The arm of this stream has none of the friction that its description states."""
    monkeypatch.setattr(Output, 'has_subscribers', lambda self, now: True)
    nodes = Nodes(tmp_path, DOMAIN, contact={'tare.max_velocity': 0.02})
    try:
        nodes.listen()
        contact, stream, clock = nodes.context.components[2], Stream(START), Clock(monkeypatch)
        for k in range(1500):
            nodes.take(stream.state(step=10 * MILLISECOND))
            clock.now += 1e-2
            assert k != 700 or not contact.warning
        assert 'shoulder_yaw 0.' in contact.warning
        assert 'far more than is stated' in contact.warning
        heard = [
            deserialize_message(data, kind)
            for topic, kind, data in nodes.heard
            if topic.endswith('/estimate')
        ]
        # In many of these postures a direction is not felt, which is told as well.
        first, last = heard[500:700], heard[-200:]
        assert not all(x.degraded for x in first)
        assert all(x.degraded for x in last)
        # Along the directions of the covariance; joints that are as stated measure the best one.
        variances = [
            np.median([np.linalg.eigvalsh(x.covariance.reshape(6, 6)) for x in some], axis=0)
            for some in (first, last)
        ]
        grown = variances[1] / variances[0]
        assert grown.min() > 2.0 and np.median(grown) > 20.0
    finally:
        monkeypatch.undo()
        nodes.close()


def kinematics_alone() -> Application:
    """A node that has nothing to do when nobody listens."""
    node = Node('kinematics_node')
    context = RobotContext(node)
    context.add(Kinematics(node, context))
    return Application([node], context)


class Clock:
    """Steady time that only tests let go on."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        patched.setattr(time, 'monotonic', lambda: self.now)


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """The kinematics node alone, nobody listens; the twist has a limit."""
    more = {'robot_description': ARM, 'publish_rates.twist': 20.0, 'publish_tf': False}
    nodes = Nodes(tmp_path, DOMAIN, kinematics_alone, more)
    nodes.listen()
    yield nodes, Clock(monkeypatch)
    monkeypatch.undo()
    nodes.close()


def test_a_node_that_nobody_listens_to_takes_states_all_the_same(alone):
    nodes, clock = alone
    stream = Stream(START)
    for _ in range(200):
        nodes.take(stream.state())
        clock.now += 1e-3
    assert nodes.context.inputs.joint_states.count == 200
    assert nodes.heard == []
    latest = nodes.context.latest_state()
    assert latest.time == stream.time
    assert_array_equal(latest.q, stream.state(step=0).position)


def test_whoever_has_come_in_a_pause_gets_the_next_state(alone, monkeypatch):
    nodes, clock = alone
    stream = Stream(START)
    for _ in range(100):
        nodes.take(stream.state())
        clock.now += 1e-3
    monkeypatch.setattr(
        Output,
        'has_subscribers',
        lambda self, now: self.topic.endswith('pose') and now >= clock.now,
    )
    clock.now += 5.0
    nodes.take(stream.state())
    assert [topic for topic, *_ in nodes.heard] == ['/kinematics_node/tool0/pose']


@pytest.mark.parametrize('rate', [25.0, 33.0, 50.0, 100.0, 1000.0])
def test_a_limit_of_an_output_is_kept_and_counted(alone, monkeypatch, rate):
    nodes, clock = alone
    monkeypatch.setattr(Output, 'has_subscribers', lambda self, now: True)
    stream, count = Stream(START), round(8.0 * rate)
    for _ in range(count):
        nodes.take(stream.state())
        clock.now += 1.0 / rate
    heard = Counter(topic.rpartition('/')[2] for topic, *_ in nodes.heard)
    assert heard['pose'] == count
    assert heard['twist'] == pytest.approx(160, abs=2)
    outputs = {
        output.topic: output for part in nodes.context.components for output in part.outputs()
    }
    skipped = outputs['/kinematics_node/tool0/twist'].skipped
    assert skipped == count - heard['twist']


def test_a_state_that_waited_is_answered_though_a_late_message_came_last(alone, monkeypatch):
    nodes, _ = alone
    monkeypatch.setattr(Output, 'has_subscribers', lambda self, now: self.topic.endswith('pose'))
    stream = Stream(START)
    late, first, second = (serialize_message(stream.state()) for _ in range(3))
    for data, newest in ((first, False), (second, False), (late, True)):
        nodes.context.inputs.incoming._pass_on(data, newest)
    ((_, kind, pose),) = nodes.heard
    assert nanoseconds(deserialize_message(pose, kind).header.stamp) == stream.time
