# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A ROS graph as it was seen for some seconds: data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile

CLOCK = '/clock'
JOINT_STATE = 'sensor_msgs/msg/JointState'
OUTPUTS = ': outputs'
"""End of the name of a status that a node of this package publishes."""


@dataclass(frozen=True)
class Endpoint:
    """A publisher or a subscription.

    Attributes:
        node: full name of its node.
        type: of its messages.
        qos: its quality of service.
    """

    node: str
    type: str
    qos: QoSProfile


@dataclass
class Topic:
    """A topic and what was heard on it.

    Attributes:
        name: in full.
        publishers, subscriptions: of other nodes.
        listened: whether its messages were counted.
        count: messages.
        rate: messages a second between the first and the last one.
        age: median of how long ago the stamps were when the messages came [s]; None without stamps.
    """

    name: str
    publishers: tuple[Endpoint, ...] = ()
    subscriptions: tuple[Endpoint, ...] = ()
    listened: bool = False
    count: int = 0
    rate: float = 0.0
    age: float | None = None

    @property
    def types(self) -> set[str]:
        """Of all that publish and subscribe."""
        return {one.type for one in (*self.publishers, *self.subscriptions)}

    @property
    def is_private(self) -> bool:
        """Whether it lies below the name of a node that publishes it: an output, no input."""
        return any(self.name.startswith(f'{one.node}/') for one in self.publishers)


@dataclass
class Graph:
    """What was seen.

    Attributes:
        domain: ROS_DOMAIN_ID.
        seconds: for how long.
        nodes: how many have each full name.
        topics: by name.
        statuses: the last one of each node of this package, by the full name of the node.
        simulated: whether stamps were compared with /clock in place of the machine's clock.
    """

    domain: int
    seconds: float
    nodes: Counter[str] = field(default_factory=Counter)
    topics: dict[str, Topic] = field(default_factory=dict)
    statuses: dict[str, DiagnosticStatus] = field(default_factory=dict)
    simulated: bool = False
