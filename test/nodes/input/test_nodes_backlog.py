# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node that has been standing still answers what waits; one that is too slow the newest.

What is no joint state is refused and counted.
"""

from __future__ import annotations

import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, Q
from numpy.testing import assert_allclose
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from ros_harness import client, running, shared
from sensor_msgs.msg import JointState

from dynamics_ros.nodes import inputs
from dynamics_ros_msgs.msg import ExternalWrench

pytestmark = pytest.mark.ros

DOMAIN = 96
SAME = 1e-12


PERIOD = 0.001
PAUSE = 0.3
"""Seconds: more than the machine has been seen to stand still."""

TRIES = 10
"""Pauses of which one has to be caught up with completely: a busy machine may take the time that
this needs away from the node, which then rightly answers the newest, or lengthen the pause until
the middleware drops messages."""

OVERLOAD = 0.0001
"""Seconds: less than plain Python needs for all outputs."""

TORQUES = '/dynamics_node/gravity_torques'
NEWER = 'joint_states not answered, newer ones waited'
LOST = 'joint_states lost on the way'
DEEP = QoSProfile(
    depth=5000, history=HistoryPolicy.KEEP_LAST, reliability=ReliabilityPolicy.RELIABLE
)


ros = shared(client, DOMAIN, infos=True)


class Source:
    """Publishes joint states at a steady rate and remembers when.

    Attributes:
        sent: stamp of each to when that was [s since the epoch].
    """

    def __init__(self, ros, node, period=PERIOD):
        """Begin when a node answers, and has nothing left to answer."""
        self._ros, self._node, self._period = ros, node, period
        self._left = {}
        torques = ros.listen(JointState, TORQUES, DEEP)
        ros.node.create_subscription(JointState, TORQUES, self._on_answer, DEEP)
        ros.exchange(self._state(), torques)
        self.begin()

    def begin(self):
        """Forget everything so far, once it has been answered."""
        self.sent = {}
        self.publish(1)
        self.wait()
        self.sent.clear()
        self._left.clear()
        self._before = self._counts()

    def _state(self):
        return self._ros.joint_state(NAMES, Q, np.zeros(7), ROBOT.gravity(Q), step=PERIOD)

    def _on_answer(self, message, info):
        assert_allclose(message.effort, ROBOT.gravity(Q), atol=SAME)
        self._left[stamp_of(message)] = 1e-9 * info['source_timestamp']

    def _counts(self):
        values = self._ros.wait_for_report(self._node)
        return np.array([int(values[NEWER]), int(values[LOST])])

    def publish(self, count):
        """Publish so many; late ones at once, so that the mean rate holds."""
        # Serialised beforehand: this process must not be the slow one.
        messages = [self._state() for _ in range(count)]
        ready = [(stamp_of(message), serialize_message(message)) for message in messages]
        publisher = self._ros._publishers['/joint_states']
        due = time.monotonic()
        for stamp, data in ready:
            time.sleep(max(due - time.monotonic(), 0.0))
            due += self._period
            self.sent[stamp] = time.time()
            publisher.publish(data)

    def wait(self):
        """Wait until the last one has been answered; where it was lost, one that follows it."""
        self._ros.wait_for(
            lambda: list(self.sent)[-1] in self._left,
            meanwhile=lambda: self.publish(1),
            period=1.0,
        )

    def accounts(self):
        """How many were not answered for newer ones, were lost, and are not accounted for.

        The others have been answered, in their order.
        """
        newer, lost = self._counts() - self._before
        assert list(self._left) == sorted(self._left)
        assert self._left.keys() <= self.sent.keys()
        return newer, lost, len(self.sent) - len(self._left) - newer - lost

    @property
    def interval(self):
        """Seconds between two answers."""
        return np.median(np.diff([*self._left.values()]))

    @property
    def lags(self):
        """Seconds from sending each joint state that was answered to its answer's being sent."""
        return np.array([left - self.sent[stamp] for stamp, left in self._left.items()])


def stamp_of(message):
    return message.header.stamp.sec, message.header.stamp.nanosec


def stand_still(process, source, count):
    """Publish so many joint states to a process that does not run meanwhile."""
    process.send(signal.SIGSTOP)
    try:
        source.publish(count)
    finally:
        process.send(signal.SIGCONT)


def test_a_node_that_stood_still_answers_everything_when_it_goes_on(ros):
    with running('dynamics_ros', DOMAIN, {'robot_description': ARM}) as process:
        source = Source(ros, 'dynamics_node')
        for _ in range(TRIES):
            source.publish(100)
            stand_still(process, source, round(PAUSE / PERIOD))
            source.publish(100)
            source.wait()
            missing = source.accounts()
            if not any(missing):
                break
            source.begin()
        assert not any(missing)


def test_more_than_the_middleware_keeps_is_lost_and_told(ros):
    with running('dynamics_ros', DOMAIN, {'robot_description': ARM}) as process:
        source = Source(ros, 'dynamics_node')
        stand_still(process, source, 1500)
        source.publish(10)
        source.wait()
        _, lost, unknown = source.accounts()
        assert lost > 0
        # Fast DDS gives the memory of the oldest few to newer ones, and may not count these.
        assert 0 <= unknown < 0.02 * lost


def test_a_node_that_is_too_slow_answers_the_newest_and_counts_the_others(ros):
    with running('dynamics_ros', DOMAIN, {'robot_description': ARM, 'backend': 'python'}):
        # The dearest of all: singular values in plain Python.
        ros.listen(ExternalWrench, '/contact_node/tool0/estimate', DEEP)
        source = Source(ros, 'dynamics_node', OVERLOAD)
        ros.wait_for_status('contact_node', 'publishing', meanwhile=lambda: source.publish(1))
        source.begin()
        source.publish(4000)
        source.wait()
        newer, _, unknown = source.accounts()
        assert newer > 0
        # Fast DDS does not count all that it drops while this process waits for a processor.
        assert unknown >= 0
        # The queue would make them late by a thousand answers.
        assert np.median(source.lags) < 200 * source.interval


@pytest.mark.parametrize(('pause', 'answered'), [(0.0, 0.5), (0.25, 1.0)])
def test_states_are_young_under_overload_beside_long_callbacks_and_all_count_after_a_pause(
    monkeypatch, pause, answered
):
    """1000 joint states per second, and each 50 ms a callback of 12 ms."""
    cost = 0.0003 if pause else 0.0015
    clock, queue, ages = SimpleNamespace(now=100.0, sent=100.0), [], []

    def arrive():
        while clock.sent + PERIOD <= clock.now:
            clock.sent += PERIOD
            queue.append(clock.sent)
        del queue[:-1000]

    def waiting(*_):
        arrive()
        taken, queue[:] = [*queue], []
        return taken

    def pass_on(stamp, answer):
        clock.now += cost if answer else 0.00005
        if answer:
            ages.append(clock.now - stamp)

    monkeypatch.setattr(inputs, 'time', SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(inputs, 'take_waiting', waiting)
    subscription = SimpleNamespace(qos_profile=inputs.JOINT_STATE_QOS)
    node = SimpleNamespace(create_subscription=lambda *_, **__: subscription)
    incoming = inputs.JointStateInput(node, JointState, 'joint_states', pass_on)
    called = paused = clock.now
    while clock.now < 110.0:
        if clock.now > called + 0.05:
            called, clock.now = clock.now, clock.now + 0.012
        if pause and clock.now > paused + 2.0:
            clock.now = paused = clock.now + pause
        arrive()
        if queue:
            incoming._on_message(queue.pop(0))
            clock.now += 1e-5
        else:
            clock.now = clock.sent + PERIOD
    assert np.median(ages) < 0.05
    assert incoming.superseded <= (1.0 - answered) * 10.0 / PERIOD


def test_bytes_that_are_no_joint_state_are_refused_and_counted_and_the_node_goes_on(ros):
    with running('dynamics_ros', DOMAIN, {'robot_description': ARM}) as node:
        torques = ros.listen(JointState, TORQUES, DEEP)
        part = ros.joint_state(NAMES[:-1], Q[:-1])

        def send_both():
            ros.publish_joint_state(part)
            ros._publishers['/joint_states'].publish(bytes(20))

        text = 'messages so far lack their positions, or were malformed bytes'
        status = ros.wait_for_status('dynamics_node', text, meanwhile=send_both)
        assert f'waiting for {NAMES[-1]}: ' in status.message
        state = ros.joint_state(NAMES, Q, np.zeros(7), ROBOT.gravity(Q))
        ros.exchange(state, torques)
        good = serialize_message(state)
        lengths = good[:12] + b'\xff' * (len(good) - 12)
        broken = [good[:20], b'', good[:3], lengths, bytes(4), b'\0\1\0\0' + bytes(2**20)]

        def send():
            for data in broken:
                ros._publishers['/joint_states'].publish(data)

        ros.wait_for(
            lambda: (
                int(ros.values('dynamics_node').get('refused: malformed bytes', 0)) >= len(broken)
            ),
            meanwhile=send,
            period=0.2,
        )
        state = ros.joint_state(NAMES, Q, np.zeros(7), ROBOT.gravity(Q))
        assert_allclose(ros.exchange(state, torques).effort, ROBOT.gravity(Q), atol=SAME)
        assert 'unexpected' not in node.printed
