# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Data of a ROS graph that was observed for some seconds, and statistics of its messages."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from dynamics_ros.wire.cdr import MalformedMessageError, stamp_of

CLOCK = '/clock'
JOINT_STATE = 'sensor_msgs/msg/JointState'
OUTPUTS = ': outputs'
"""Suffix of the name of a status that a node of this package publishes."""


MAX_AGES = 10000
"""Largest number of stamps kept per topic."""

MIN_ELAPSED = 0.5
"""Shortest time over which the advance of stamps is judged [s]."""


class Endpoint(NamedTuple):
    """Publisher or subscription: full name of its node, message type, quality of service."""

    node: str
    type: str
    qos: QoSProfile


@dataclass
class Topic:
    """Topic and statistics of the received messages.

    Attributes:
        name: full name.
        publishers, subscriptions: those of other nodes.
        listened: whether its messages were counted.
        count: number of messages.
        rate: messages per second between the first and the last one.
        age: median age of the stamps on arrival [s]; None without stamps.
        pace: time by which the stamps advance per second; None if they do not.
        stamp_rate: rate of the stamps, by the median of their steps [Hz]; None if they do not
            advance.
        joints: names in its joint states.
    """

    name: str
    publishers: tuple[Endpoint, ...] = ()
    subscriptions: tuple[Endpoint, ...] = ()
    listened: bool = False
    count: int = 0
    rate: float = 0.0
    age: float | None = None
    pace: float | None = None
    stamp_rate: float | None = None
    joints: set[str] = field(default_factory=set)
    _ages: list[tuple[float, float]] = field(default_factory=list)  # stamp, age [s]
    _lengths: set[int] = field(default_factory=set)
    _first: float = 0.0
    _last: float = 0.0

    @property
    def types(self) -> set[str]:
        """Message types of all publishers and subscriptions."""
        return {one.type for one in (*self.publishers, *self.subscriptions)}

    @property
    def is_private(self) -> bool:
        """Whether it lies below the name of a node that publishes it, so that it is an output."""
        return any(self.name.startswith(f'{one.node}/') for one in self.publishers)

    def take(self, data: bytes, now: float, *, stamped: bool, joints: bool) -> None:
        """Count a serialized message, which may begin with a stamp, at a time of the clock [s]."""
        self._last = time.monotonic()
        self._first = self._first or self._last
        self.count += 1
        if stamped and len(self._ages) < MAX_AGES:
            with suppress(MalformedMessageError):
                if stamp := 1e-9 * stamp_of(data):
                    self._ages.append((stamp, now - stamp))
        if joints and len(data) not in self._lengths:  # of other joints
            self._lengths.add(len(data))
            self.joints.update(deserialize_message(data, JointState).name)

    def summarize(self) -> None:
        """Set rate, age, and how far and how often the stamps advance."""
        ages, lasted = self._ages, self._last - self._first
        self.rate = (self.count - 1) / lasted if lasted > 0.0 else 0.0
        self.age = median(age for _, age in ages) if ages else None
        steps = [after - before for (before, _), (after, _) in pairwise(ages)]
        if forward := [step for step in steps if step > 0.0]:
            advanced = ages[-1][0] - ages[0][0]
            elapsed = advanced + ages[-1][1] - ages[0][1]
            self.pace = advanced / elapsed if elapsed > MIN_ELAPSED else None
            self.stamp_rate = 1.0 / median(forward)


@dataclass
class Graph:
    """Observed graph.

    Attributes:
        domain: ROS_DOMAIN_ID.
        seconds: observation time [s].
        nodes: number of nodes by full name.
        topics: by name.
        statuses: the last one of each node of this package, by the full name of the node.
        simulated: whether stamps were compared with /clock instead of the machine's clock.
        described: joints of a description that joint states have to report; empty without one.
    """

    domain: int
    seconds: float
    nodes: Counter[str] = field(default_factory=Counter)
    topics: dict[str, Topic] = field(default_factory=dict)
    statuses: dict[str, DiagnosticStatus] = field(default_factory=dict)
    simulated: bool = False
    described: tuple[str, ...] = ()
