# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observation of a ROS graph for some seconds: nodes, topics, and statistics of their messages.

It disturbs nothing: nodes of this package compute an output only while somebody subscribes, so
outputs without other subscribers are not subscribed to.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Odometry
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from dynamics_ros.files import use_writable_log_folder
from dynamics_ros.wire.cdr import MalformedMessageError, deserialized, stamp_of

if TYPE_CHECKING:  # newer releases have it elsewhere
    from rclpy.topic_endpoint_info import TopicEndpointInfo

CLOCK = '/clock'
JOINT_STATE = 'sensor_msgs/msg/JointState'
OUTPUTS = ': outputs'
"""Suffix of the name of a status that a node of this package publishes."""

LOOK_PERIOD = 0.25
"""Period between two discovery checks [s]."""

NOT_DISCOVERED = '_NODE_NAME_UNKNOWN_'
"""Name of the node of an endpoint that is discovered before its node."""

MAX_ARRIVALS = 10000
"""Largest number of messages kept per topic, as times."""

_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class Endpoint(NamedTuple):
    """Publisher or subscription: full name of its node, type, quality of service, identifier."""

    node: str
    type: str
    qos: QoSProfile
    gid: bytes = b''


@dataclass
class Topic:
    """Topic and the arrivals of its messages.

    Attributes:
        name: full name.
        publishers, subscriptions: those of other nodes.
        listened: whether its messages were counted.
        arrivals: of the latest messages the steady time, the time of the clock that stamps are
            compared with, and the stamp [s]; without a stamp it is NaN.
        joints: names in its joint states.
        reports: times [s] and messages of each publisher, by its identifier (b'' before Kilted): of
            odometry, and of joint states of several publishers.
    """

    name: str
    publishers: tuple[Endpoint, ...] = ()
    subscriptions: tuple[Endpoint, ...] = ()
    listened: bool = False
    arrivals: deque[tuple[float, float, float]] = field(
        default_factory=lambda: deque(maxlen=MAX_ARRIVALS)
    )
    joints: set[str] = field(default_factory=set)
    reports: dict[bytes, deque[tuple[float, Any]]] = field(default_factory=dict)
    _lengths: set[int] = field(default_factory=set)

    @property
    def rate(self) -> float:
        """Messages per second; 0 of less than two."""
        lasted = self.arrivals[-1][0] - self.arrivals[0][0] if self.arrivals else 0.0
        return (len(self.arrivals) - 1) / lasted if lasted > 0.0 else 0.0

    @property
    def age(self) -> float | None:
        """Median age of the stamps on arrival [s]; None without stamps."""
        ages = [now - stamp for _, now, stamp in self.arrivals if stamp == stamp]
        return median(ages) if ages else None

    @property
    def types(self) -> set[str]:
        """Message types of all publishers and subscriptions."""
        return {one.type for one in (*self.publishers, *self.subscriptions)}

    @property
    def senders(self) -> list[str]:
        """Sorted names of the nodes that publish it."""
        return sorted({one.node for one in self.publishers})

    @property
    def is_private(self) -> bool:
        """Whether it lies below the name of a node that publishes it, so that it is an output."""
        return any(self.name.startswith(f'{one.node}/') for one in self.publishers)

    def take(
        self, data: bytes, now: float, *, stamped: bool, kind: Any = None, sender: bytes = b''
    ) -> None:
        """Count a serialized message, which may begin with a stamp, at a time of the clock [s]."""
        stamp = math.nan
        with suppress(MalformedMessageError):
            stamp = (1e-9 * stamp_of(data) if stamped else 0.0) or math.nan
        self.arrivals.append((time.monotonic(), now, stamp))
        with suppress(MalformedMessageError):
            if kind is JointState and len(data) not in self._lengths:  # of other joints
                self._lengths.add(len(data))
                self.joints.update(deserialized(data, kind).name)
            if kind is Odometry or (kind is JointState and len(self.publishers) > 1):
                received = now if math.isnan(stamp) else stamp
                reports = self.reports.setdefault(sender, deque(maxlen=MAX_ARRIVALS))
                reports.append((received, deserialized(data, kind)))


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


def observe(seconds: float, arguments: list[str] | None = None) -> Graph:
    """Observe the graph of this ROS domain.

    Args:
        seconds: observation time [s].
        arguments: ROS arguments, as after ``--ros-args``.
    """
    use_writable_log_folder()
    context = rclpy.Context()
    rclpy.init(args=arguments, context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        # A leading underscore hides the node from `ros2 node list`.
        node = Node(f'_dynamics_ros_doctor_{os.getpid()}', context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        observer = _Observer(node, Graph(context.get_domain_id(), seconds))
        until, look_at = time.monotonic() + seconds, 0.0
        while (now := time.monotonic()) < until:
            if now >= look_at:
                observer.look()
                look_at = now + LOOK_PERIOD
            executor.spin_once(timeout_sec=0.05)
        observer.look()
        executor.shutdown()
        node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)
    return observer.graph


class _Observer:
    """Fills a graph."""

    def __init__(self, node: Node, graph: Graph) -> None:
        self._node, self.graph = node, graph
        self._clock = 0.0
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, _QOS.depth)
        node.create_subscription(Clock, CLOCK, self._on_clock, newest)

    def look(self) -> None:
        """Discover nodes and subscribe to new topics."""
        node, graph = self._node, self.graph
        own = node.get_fully_qualified_name()
        names = node.get_node_names_and_namespaces()
        graph.nodes = Counter(_full(namespace, name) for name, namespace in names)
        del graph.nodes[own]
        for name, types in node.get_topic_names_and_types():
            publishers = _endpoints(node.get_publishers_info_by_topic(name), own)
            subscriptions = _endpoints(node.get_subscriptions_info_by_topic(name), own)
            if publishers or subscriptions:
                topic = graph.topics.setdefault(name, Topic(name))
                topic.publishers, topic.subscriptions = publishers, subscriptions
                if not topic.listened and self._is_of_interest(topic):
                    self._listen(topic, types[0])

    def _is_of_interest(self, topic: Topic) -> bool:
        """Whether a topic is an input, or an output with subscribers, with a rate to measure."""
        # Without the name of its node, an output looks like an input.
        unknown = any(node.endswith(NOT_DISCOVERED) for node in topic.senders)
        if not topic.publishers or len(topic.types) > 1 or topic.name == CLOCK or unknown:
            return False
        if JOINT_STATE in topic.types and not topic.is_private:
            return True
        ends = {one.node for one in (*topic.publishers, *topic.subscriptions)}
        latched = DurabilityPolicy.TRANSIENT_LOCAL in [x.qos.durability for x in topic.publishers]
        ours = not ends.isdisjoint(self.graph.statuses)
        return ours and bool(topic.subscriptions) and not latched

    def _listen(self, topic: Topic, name: str) -> None:
        package, _, own = name.partition('/msg/')
        try:
            kind = getattr(import_module(f'{package}.msg'), own)
        except (ImportError, AttributeError):  # its package is not installed
            return
        first = next(iter(kind.get_fields_and_field_types().values()), '')
        stamped = first in ('std_msgs/Header', 'builtin_interfaces/Time')

        def take(data: bytes, info: Mapping[str, Any]) -> None:
            now = self._clock if self.graph.simulated else time.time()
            sender = bytes((info.get('publisher_gid') or {}).get('data', b''))
            topic.take(data, now, stamped=stamped, kind=kind, sender=sender)

        topic.listened = True
        self._node.create_subscription(kind, topic.name, take, _QOS, raw=True)

    def _on_clock(self, message: Clock) -> None:
        self._clock = message.clock.sec + 1e-9 * message.clock.nanosec
        self.graph.simulated = True

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith(OUTPUTS):
                self.graph.statuses['/' + status.name.removesuffix(OUTPUTS)] = status


def _full(namespace: str, name: str) -> str:
    return f'{namespace.rstrip("/")}/{name}'


def _endpoints(infos: list[TopicEndpointInfo], own: str) -> tuple[Endpoint, ...]:
    """Return the endpoints of nodes other than ``own``."""
    named = ((_full(one.node_namespace, one.node_name), one) for one in infos)
    return tuple(
        Endpoint(node, one.topic_type, one.qos_profile, bytes(one.endpoint_gid))
        for node, one in named
        if node != own
    )
