# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subscription to joint states that reads serialized messages and limits the backlog."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from dynamics_ros.estimation.samples.backlog import Backlog
from dynamics_ros.estimation.samples.reports import JointValues
from dynamics_ros.nodes.rclpy_private import lost_messages, take_waiting
from dynamics_ros.wire.cdr import MalformedMessageError
from dynamics_ros.wire.joint_states import reader_for

# Best effort, as for sensor data. The depth is one second at 1 kHz, more than the 512 messages that
# Fast DDS keeps in shared memory for a suspended process, so the queue loses nothing of these.
JOINT_STATE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT
)
ODOMETRY_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=100, reliability=ReliabilityPolicy.BEST_EFFORT
)
OVERRIDABLE = QoSOverridingOptions(
    (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY)
)

BACK_TO_BACK_GAP = 40e-6
"""Maximum time from the end of one callback to the next for a message that was waiting [s]."""

MAX_MERGED = 100
"""Maximum number of waiting messages that are merged without outputs before the newest; older ones
are dropped, because the newest becomes older while they are merged."""

COUNTER_RANGE = 1 << 32
"""Number of values of the counter of lost messages, which has 32 bits and wraps around."""

MAX_LOST = 10**6
"""Maximum plausible number of messages lost between two readings; larger values are ignored."""

Handler = Callable[[JointValues, bool], None]


class JointStateInput:
    """Subscription that passes joint states on in order, and says which need no outputs.

    Attributes:
        superseded: number of messages that were merged or dropped without outputs, because newer
            ones were waiting.
        backlog: limits the time for outputs of waiting messages.
        topic: name of the topic before namespaces and remapping.
    """

    def __init__(
        self,
        node: Node,
        on_values: Handler,
        on_malformed: Callable[[MalformedMessageError], None],
        topic: str = 'joint_states',
    ) -> None:
        """Subscribe to a topic of joint states.

        Args:
            node: the node.
            on_values: called with the values of a message, and whether to publish outputs for it.
            on_malformed: called with the error if the bytes of a message cannot be read.
            topic: ``joint_states``, or ``dynamic_joint_states`` of ros2_control.
        """
        self.superseded = 0
        self.backlog = Backlog()
        self._on_values = on_values
        self._on_malformed = on_malformed
        kind, self._read = reader_for(topic)
        self.topic = topic
        self._last_end = 0.0
        self._received = 0
        self._missed = 0
        self._losses = LossCount()
        self._counted = (b'', 0, 0)
        self._subscription = node.create_subscription(
            kind,
            topic,
            self._on_message,
            JOINT_STATE_QOS,
            qos_overriding_options=OVERRIDABLE,
            raw=True,
        )

    def _on_message(self, message: bytes) -> None:
        start = time.monotonic()
        self._received += 1
        was_waiting = start - self._last_end < BACK_TO_BACK_GAP
        if was_waiting or self.backlog.is_due(start):
            start = self._pass_on_with_queue(message, start, was_waiting)
        else:
            self._pass_on(message, True)
        self._last_end = time.monotonic()
        self.backlog.record(self._last_end - start)

    def _pass_on_with_queue(self, message: bytes, start: float, was_waiting: bool) -> float:
        """Pass on a message and those that wait behind it.

        Args:
            message: the message that the executor has handed over.
            start: time of the steady clock at the start of the callback [s].
            was_waiting: whether the message was probably waiting during the previous callback.

        Returns:
            Time at which the processing of the newest of them began [s].
        """
        queued = self._waiting()
        if queued:
            return self._pass_on_queue([message, *queued], start)
        if not was_waiting:
            self.backlog.restore(start)
        self._pass_on(message, True)
        return start

    def _pass_on_queue(self, messages: list[bytes], start: float) -> float:
        """Pass on messages that have waited; the backlog decides which of them get outputs.

        Returns:
            Time at which the processing of the newest of them began [s].
        """
        *older, newest = messages
        deadline = self.backlog.deadline(len(older) + 1, start)
        for left, message in zip(range(len(older), 0, -1), older, strict=True):
            answer = time.monotonic() < deadline
            self.superseded += not answer
            if answer or left <= MAX_MERGED:
                self._pass_on(message, answer)
        now = time.monotonic()
        self.backlog.spend(start, now)
        self._pass_on(newest, True)
        return now

    def process_waiting(self) -> None:
        """Pass on all waiting messages; for callers that cannot return to the executor first."""
        if waiting := self._waiting():
            self._pass_on_queue(waiting, time.monotonic())

    def lost(self) -> int:
        """Return the number of messages that were sent but not received, as far as is known.

        The middleware counts messages that did not reach the queue. Gaps in the sequence numbers of
        waiting messages count all losses, but only for a single publisher.
        """
        return max(self._losses.add(lost_messages(self._subscription)), self._missed)

    def _pass_on(self, message: bytes, answer: bool) -> None:
        try:
            values = self._read(message)
        except MalformedMessageError as error:
            self._on_malformed(error)
        else:
            self._on_values(values, answer)

    def _waiting(self) -> list[bytes]:
        """Take the waiting messages out of the queue; the executor tolerates that they are gone."""
        subscription = self._subscription
        max_count = max(JOINT_STATE_QOS.depth, subscription.qos_profile.depth)
        taken = take_waiting(subscription, max_count)
        self._received += len(taken)
        if taken:
            self._count_missed(taken[-1][1])
        return [message for message, _ in taken]

    def _count_missed(self, info: Mapping[str, Any]) -> None:
        """Count messages that are missing before the last one, by its sequence number."""
        publisher, number = info.get('publisher_gid'), info.get('publication_sequence_number')
        if publisher is None or number is None:
            return
        name, before, received = self._counted
        if publisher['data'] == name:
            # A lower bound: messages received from other publishers are subtracted too.
            missed = number - before - (self._received - received)
            self._missed += missed if 0 < missed <= MAX_LOST else 0
        self._counted = publisher['data'], number, self._received


class LossCount:
    """Sum of the lost messages that the middleware reports with an unreliable 32-bit counter.

    Fast DDS adds 2^31 - 1 when the sequence numbers of a writer jump, and reports negative counts
    as huge ones. The sum therefore includes only plausible changes between two readings.

    Attributes:
        lost: number of lost messages.
    """

    def __init__(self) -> None:
        self.lost = 0
        self._total = 0

    def add(self, total: int) -> int:
        """Add the change since the last reading if it is plausible; return ``lost``.

        Args:
            total: counter of the middleware.
        """
        change = (total - self._total) % COUNTER_RANGE
        self._total = total % COUNTER_RANGE
        if change <= MAX_LOST:
            self.lost += change
        return self.lost
