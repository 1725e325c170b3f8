# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The subscription to joint states: read from bytes where that can be, and never far behind."""

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
from dynamics_ros.wire.joint_states import read_from

# Best effort as sensor data is. A second at 1 kHz: more than Fast DDS keeps for a process that
# stands still, 512 messages in shared memory, so nothing that has got through is lost here.
JOINT_STATE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT
)
ODOMETRY_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=100, reliability=ReliabilityPolicy.BEST_EFFORT
)
OVERRIDABLE = QoSOverridingOptions(
    (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY)
)

BACK_TO_BACK = 40e-6
"""Seconds from the end of one message to the next when that one had been waiting."""

MERGED = 100
"""Most messages that are merged before the newest is answered, which gets old meanwhile; what is
older is dropped."""

COUNTS = 1 << 32

MAX_LOST = 10**6
"""Messages that can have been lost between two looks; more is no count."""

Handler = Callable[[JointValues, bool], None]


class JointStateInput:
    """Hands joint states on, in their order, and says which are too old to be answered.

    Attributes:
        superseded: messages that were at most merged, not answered, since newer ones were waiting.
        backlog: how many of those that wait are answered.
        topic: that it subscribes to, as it was named.
    """

    def __init__(
        self,
        node: Node,
        handle: Handler,
        refuse: Callable[[MalformedMessageError], None],
        topic: str = 'joint_states',
    ) -> None:
        """Subscribe to ``joint_states``.

        Args:
            node: the node.
            handle: takes what a message says, and whether it is to be answered.
            refuse: told of bytes that are no joint state.
            topic: ``joint_states``, or ``dynamic_joint_states`` of ros2_control.
        """
        self.superseded = 0
        self.backlog = Backlog()
        self._handle = handle
        self._refuse = refuse
        kind, self._read = read_from(topic)
        self.topic = topic
        self._ended = 0.0
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
        begun = time.monotonic()
        self._received += 1
        waited = begun - self._ended < BACK_TO_BACK
        if waited or self.backlog.is_due(begun):
            begun = self._with_those_behind(message, begun, waited)
        else:
            self._pass_on(message, True)
        self._ended = time.monotonic()
        self.backlog.record(self._ended - begun)

    def _with_those_behind(self, message: bytes, begun: float, waited: bool) -> float:
        """Pass on a message and what waits behind it; when the newest of them was begun [s]."""
        behind = self._waiting()
        if behind:
            return self._pass_on_all([message, *behind], begun)
        if not waited:
            self.backlog.restore(begun)
        self._pass_on(message, True)
        return begun

    def _pass_on_all(self, messages: list[bytes], begun: float) -> float:
        """Pass on messages that have waited, each to be answered where the backlog allows that.

        Returns:
            When the newest of them was begun [s].
        """
        *older, newest = messages
        until = self.backlog.deadline(len(older) + 1, begun)
        for left, one in zip(range(len(older), 0, -1), older, strict=True):
            answer = time.monotonic() < until
            self.superseded += not answer
            if answer or left <= MERGED:
                self._pass_on(one, answer)
        now = time.monotonic()
        self.backlog.spend(begun, now)
        self._pass_on(newest, True)
        return now

    def take_waiting(self) -> None:
        """Pass on what waits: for who cannot return to the executor."""
        if waiting := self._waiting():
            self._pass_on_all(waiting, time.monotonic())

    def lost(self) -> int:
        """How many messages were sent and have not come out of the middleware, as far as it tells.

        It tells at once of those that did not get as far as the queue, and by the numbers of what
        waits, of a single publisher, of all.
        """
        return max(self._losses.add(lost_messages(self._subscription)), self._missed)

    def _pass_on(self, message: bytes, answer: bool) -> None:
        try:
            values = self._read(message)
        except MalformedMessageError as error:
            self._refuse(error)
        else:
            self._handle(values, answer)

    def _waiting(self) -> list[bytes]:
        """The messages that wait; the executor does not mind that they are gone."""
        subscription = self._subscription
        most = max(JOINT_STATE_QOS.depth, subscription.qos_profile.depth)
        found = take_waiting(subscription, most)
        self._received += len(found)
        if found:
            self._count_missed(found[-1][1])
        return [message for message, _ in found]

    def _count_missed(self, info: Mapping[str, Any]) -> None:
        """Count what was sent before the message that came in last, and has not come in."""
        publisher, number = info.get('publisher_gid'), info.get('publication_sequence_number')
        if publisher is None or number is None:
            return
        name, before, received = self._counted
        if publisher['data'] == name:
            # Never too many: if some of those received are of others, more of this one are missing.
            missed = number - before - (self._received - received)
            self._missed += missed if 0 < missed <= MAX_LOST else 0
        self._counted = publisher['data'], number, self._received


class LossCount:
    """Adds up what the middleware tells of losses, which is a count of 32 bits and may be nonsense.

    Fast DDS adds 2^31 - 1 where the numbers of a writer jump, and hands negative counts on as huge
    ones. So what counts is the change between two looks, if it can have happened in that time.

    Attributes:
        lost: messages.
    """

    def __init__(self) -> None:
        self.lost = 0
        self._total = 0

    def add(self, total: int) -> int:
        """Take in the count of the middleware; all that were lost."""
        change = (total - self._total) % COUNTS
        self._total = total % COUNTS
        if change <= MAX_LOST:
            self.lost += change
        return self.lost
