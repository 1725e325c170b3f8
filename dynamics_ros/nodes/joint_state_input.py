"""The subscription to joint states: read from bytes where that can be, and never far behind."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from .cdr import JointStateReader, Layout, MalformedMessageError
from .conversions import JointValues, joint_values

# Best effort as sensor data is; deep enough that a pause of 0.1 s at 1 kHz loses nothing.
JOINT_STATE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=100, reliability=ReliabilityPolicy.BEST_EFFORT
)
OVERRIDABLE = QoSOverridingOptions(
    (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY)
)

BACK_TO_BACK = 40e-6
"""Seconds from the end of one message to the next when that one had been waiting."""

CATCH_UP = 0.01
"""Seconds within which what waits is answered one by one, as after a short pause of the machine.
What would take longer, the node is too slow for: only the newest is answered."""

USUAL = 0.1
"""Share of the last answer in what an answer usually takes."""

_log = logging.getLogger('dynamics_ros.nodes')

Handler = Callable[[JointValues, bool], None]


class JointStateInput:
    """Hands joint states on, in their order, and says which are too old to be answered.

    Attributes:
        superseded: messages that were merged but not answered, since newer ones were waiting.
        short_way: answers most messages by itself; None while there is none.
    """

    def __init__(
        self, node: Node, handle: Handler, refuse: Callable[[MalformedMessageError], None]
    ) -> None:
        """Subscribe to ``joint_states``.

        Args:
            node: the node.
            handle: takes what a message says, and whether it is to be answered.
            refuse: told of bytes that are no joint state.
        """
        self.superseded = 0
        self.short_way: Callable[[bytes], bool] | None = None
        self._reader = JointStateReader()
        self._handle = handle
        self._refuse = refuse
        self._read: Callable[[Any], JointValues] = joint_values
        raw = can_read_bytes()
        if raw:
            self._read = self._reader.read
        self._ended = 0.0
        self._usual = 0.0
        self._subscription = node.create_subscription(
            JointState,
            'joint_states',
            self._on_message,
            JOINT_STATE_QOS,
            qos_overriding_options=OVERRIDABLE,
            raw=raw,
        )

    def _on_message(self, message: Any) -> None:
        begun = time.monotonic()
        if begun - self._ended > BACK_TO_BACK:
            self._pass_on(message, True)
        else:
            waiting = [message, *self._waiting()]
            all_of_them = len(waiting) * self._usual <= CATCH_UP
            self.superseded += 0 if all_of_them else len(waiting) - 1
            for one in waiting[:-1]:
                self._pass_on(one, all_of_them)
            begun = begun if len(waiting) == 1 else time.monotonic()
            self._pass_on(waiting[-1], True)
        self._ended = time.monotonic()
        self._usual += USUAL * (self._ended - begun - self._usual)

    @property
    def layout(self) -> Layout | None:
        """Of the last message; None where it was not read from bytes."""
        return self._reader.layout

    def _pass_on(self, message: Any, answer: bool) -> None:
        if answer and self.short_way is not None and self.short_way(message):
            return
        try:
            values = self._read(message)
        except MalformedMessageError as error:
            self._refuse(error)
        else:
            self._handle(values, answer)

    def _waiting(self) -> list[Any]:
        """The messages that wait; the executor does not mind that they are gone."""
        subscription = self._subscription
        found: list[Any] = []
        with subscription.handle:
            while len(found) < JOINT_STATE_QOS.depth:
                taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
                if taken is None:
                    break
                found.append(taken[0])
        return found


@cache
def can_read_bytes() -> bool:
    """Whether the middleware lays out a joint state as it is read here."""
    message = JointState(name=['a', 'bcd'], position=[1.0, 2.0], effort=[3.0, 4.0])
    message.header.stamp.sec, message.header.stamp.nanosec = 5, 6
    message.header.frame_id = 'base'
    try:
        read = JointStateReader().read(serialize_message(message))
        known = read[:3] == (5, 6, ('a', 'bcd')) and all(
            np.array_equal(a, b) for a, b in zip(read[3:6], joint_values(message)[3:6], strict=True)
        )
    except MalformedMessageError:
        known = False
    if not known:
        _log.warning('joint states are read as message objects, which is slower')
    return known
