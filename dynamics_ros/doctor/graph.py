# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Data of a ROS graph that was observed for some seconds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile

CLOCK = '/clock'
JOINT_STATE = 'sensor_msgs/msg/JointState'
OUTPUTS = ': outputs'
"""Suffix of the name of a status that a node of this package publishes."""


@dataclass(frozen=True)
class Endpoint:
    """Publisher or subscription.

    Attributes:
        node: full name of its node.
        type: message type.
        qos: quality of service.
    """

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

    @property
    def types(self) -> set[str]:
        """Message types of all publishers and subscriptions."""
        return {one.type for one in (*self.publishers, *self.subscriptions)}

    @property
    def is_private(self) -> bool:
        """Whether it lies below the name of a node that publishes it, so that it is an output."""
        return any(self.name.startswith(f'{one.node}/') for one in self.publishers)


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
