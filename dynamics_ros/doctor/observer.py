# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observation of a ROS graph for some seconds, without disturbing it.

It does not subscribe to outputs without other subscribers: nodes of this package compute an output
only while somebody subscribes.
"""

from __future__ import annotations

import os
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock

from dynamics_ros.files import use_writable_log_folder

from .graph import CLOCK, JOINT_STATE, OUTPUTS, Endpoint, Graph, Topic

if TYPE_CHECKING:  # newer releases have it elsewhere
    from rclpy.topic_endpoint_info import TopicEndpointInfo

LOOK_PERIOD = 0.25
"""Period between two discovery checks [s]."""

DEPTH = 1000
"""Queue depth for messages during discovery checks."""

NOT_DISCOVERED = '_NODE_NAME_UNKNOWN_'
"""Name of the node of an endpoint that is discovered before its node."""


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
        observer = _Observer(node)
        until = time.monotonic() + seconds
        look_at = 0.0
        while (now := time.monotonic()) < until:
            if now >= look_at:
                observer.look()
                look_at = now + LOOK_PERIOD
            executor.spin_once(timeout_sec=0.05)
        observer.look()
        graph = observer.graph(context.get_domain_id(), seconds)
        executor.shutdown()
        node.destroy_node()
        return graph
    finally:
        rclpy.try_shutdown(context=context)


class _Observer:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._graph = Graph(0, 0.0)
        self._clock: float | None = None
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, DEPTH)
        best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(Clock, CLOCK, self._on_clock, best_effort)

    def look(self) -> None:
        """Discover nodes and subscribe to new topics."""
        node, graph = self._node, self._graph
        own = node.get_fully_qualified_name()
        graph.nodes.clear()
        for name, namespace in node.get_node_names_and_namespaces():
            graph.nodes[_full(namespace, name)] += 1
        del graph.nodes[own]
        for name, types in node.get_topic_names_and_types():
            publishers = _endpoints(node.get_publishers_info_by_topic(name), own)
            subscriptions = _endpoints(node.get_subscriptions_info_by_topic(name), own)
            if not publishers and not subscriptions:
                continue
            topic = graph.topics.setdefault(name, Topic(name))
            topic.publishers, topic.subscriptions = publishers, subscriptions
            if not topic.listened and self._is_of_interest(topic):
                self._listen(topic, types)

    def _is_of_interest(self, topic: Topic) -> bool:
        if not topic.publishers or len(topic.types) > 1 or topic.name == CLOCK:
            return False
        # Without the name of its node, an output looks like an input.
        if any(one.node.endswith(NOT_DISCOVERED) for one in topic.publishers):
            return False
        if JOINT_STATE in topic.types and not topic.is_private:
            return True
        ends = {one.node for one in (*topic.publishers, *topic.subscriptions)}
        return bool(topic.subscriptions) and not ends.isdisjoint(self._graph.statuses)

    def _listen(self, topic: Topic, types: list[str]) -> None:
        kind = _message_type(types[0])
        if kind is None:
            return
        topic.listened, stamped = True, _has_stamp(kind)
        latched = all(
            one.qos.durability == DurabilityPolicy.TRANSIENT_LOCAL for one in topic.publishers
        )
        # A best-effort subscription does not receive earlier messages.
        qos = QoSProfile(
            depth=DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if latched else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )

        def take(data: bytes) -> None:
            topic.take(data, self._now(), stamped=stamped, joints=types[0] == JOINT_STATE)

        self._node.create_subscription(kind, topic.name, take, qos, raw=True)

    def _now(self) -> float:
        return time.time() if self._clock is None else self._clock

    def _on_clock(self, message: Clock) -> None:
        self._clock = message.clock.sec + 1e-9 * message.clock.nanosec

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith(OUTPUTS):
                name = '/' + status.name.removesuffix(OUTPUTS)
                self._graph.statuses[name] = status

    def graph(self, domain: int, seconds: float) -> Graph:
        """Return the observed graph."""
        graph = self._graph
        graph.domain, graph.seconds = domain, seconds
        graph.simulated = self._clock is not None
        for topic in graph.topics.values():
            topic.summarize()
        return graph


def _full(namespace: str, name: str) -> str:
    return f'{namespace.rstrip("/")}/{name}'


def _endpoints(infos: list[TopicEndpointInfo], own: str) -> tuple[Endpoint, ...]:
    found = (
        Endpoint(_full(one.node_namespace, one.node_name), one.topic_type, one.qos_profile)
        for one in infos
    )
    return tuple(one for one in found if one.node != own)


def _message_type(name: str) -> Any:
    """Return the class of a message type, or None if it is not installed."""
    package, _, rest = name.partition('/')
    try:
        return getattr(import_module(f'{package}.msg'), rest.rpartition('/')[2])
    except (ImportError, AttributeError):
        return None


def _has_stamp(kind: Any) -> bool:
    first = next(iter(kind.get_fields_and_field_types().values()), '')
    return first in ('std_msgs/Header', 'builtin_interfaces/Time')
