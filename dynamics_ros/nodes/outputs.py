# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Outputs of the nodes: publishers, and the plan of what to compute and publish for a state.

Each component declares publications: an output, its message with the kernels and arrays that fill
it, which data of the state it needs, and its maximum rate. A plan contains the publications of all
components of a process. For each state it selects those that are due, runs their kernels in one
call and publishes the messages together. The kernels work on fixed arrays, most of which are memory
of the messages.

A plan is valid for one epoch. When a parameter, the robot, a frame name or the set of outputs
changes, ``RobotContext.begin_epoch`` discards the plan, and the next state builds a new one. The
plan checks for subscribers every ``CHECK_PERIOD``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from itertools import product
from typing import Any, NamedTuple

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.utilities import get_rmw_implementation_identifier

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.robot_state import RobotState, describe_stale
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.rclpy_private import bytes_publisher
from dynamics_ros.nodes.reporting import MIDDLEWARE_ERRORS, RateLimit, describe_error
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.wire.cdr import Filling, Message, Template
from dynamics_ros.wire.conversions import topic_names

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


OVERRIDABLE = QoSOverridingOptions(
    (
        QoSPolicyKind.HISTORY,
        QoSPolicyKind.DEPTH,
        QoSPolicyKind.RELIABILITY,
        QoSPolicyKind.DURABILITY,
    )
)
"""QoS policies of an output that `qos_overrides./TOPIC.publisher.*` may override."""

CHECK_PERIOD = 0.045
"""Period between two queries for subscribers [s]; a query costs as much as a small kernel."""

DELIVERY_TIMEOUT = 0.2
"""Maximum time to wait until subscribers have received the last command of a motion [s]."""


class Output:
    """Publisher with detection of subscribers and a rate limit.

    If the middleware refuses to create the publisher, for example because of DDS security, the
    output behaves as if it had no subscribers, and other outputs are not affected.

    Attributes:
        topic: fully qualified name of the topic; if the publisher is missing, with its name before
            remapping.
        missing: why the middleware refused to create the publisher; '' if it did not.
        published: number of published messages.
        limit: limits the rate.
        publish_bytes: publishes a serialized message without counting it; only with a publisher.
    """

    def __init__(
        self,
        node: GuardedNode,
        kind: Any,
        name: str,
        qos: QoSProfile = RELIABLE,
    ) -> None:
        """Create a publisher.

        Args:
            node: the node.
            kind: type of the messages.
            name: name of the topic.
            qos: quality of service.

        Raises:
            InvalidArgumentError: a parameter ``qos_overrides`` is invalid.
        """
        # No QoS event callbacks: destroying a publisher that has some can crash the events
        # executor, and publishers are destroyed when a frame is no longer configured.
        silent = PublisherEventCallbacks(use_default_callbacks=False)
        self._node = node
        self.topic = name
        self.missing = ''
        self.published = 0
        self.limit = RateLimit()
        self._subscribed = False
        self._next_check = 0.0
        self._publisher: Publisher[Any] | None = None
        try:
            self.topic = node.resolve_topic_name(name)
            self._publisher = node.create_publisher(
                kind,
                name,
                copy(qos),  # rclpy writes the overrides into it
                event_callbacks=silent,
                qos_overriding_options=OVERRIDABLE,
            )
        except MIDDLEWARE_ERRORS as error:
            self.topic, self.missing = _describe_topic(node, name), describe_error(error)
            node.get_logger().error(f'{self.topic} cannot be published: {self.missing}')
        except (RuntimeError, InvalidParameterTypeException) as error:
            parameters = f'qos_overrides.{self.topic}.publisher'
            raise InvalidArgumentError(parameters, str(error), 'a policy of ROS') from error
        if self._publisher is not None:
            self.publish_bytes = bytes_publisher(self._publisher)
        node.outputs.append(self)

    def has_subscribers(self, now: float) -> bool:
        """Return whether there are subscribers, from a query at most ``CHECK_PERIOD`` old.

        Args:
            now: time of the steady clock [s].
        """
        if now >= self._next_check and self._publisher is not None:
            self._next_check = now + CHECK_PERIOD
            self._subscribed = self._publisher.get_subscription_count() > 0
        return self._subscribed

    def publish(self, message: Any) -> None:
        """Publish a message and count it."""
        if self._publisher is not None:
            self._publisher.publish(message)
            self.published += 1

    def send(self, template: Template | None, stamp: bytes) -> None:
        """Publish a filled template, if there is one, with a stamp packed as ``cdr.STAMP``."""
        if self._publisher is not None and template is not None:
            self.published += 1
            self.publish_bytes(template.message(stamp))

    def wait_until_received(self) -> None:
        """Wait until reliable subscribers have received all, ``DELIVERY_TIMEOUT`` at most.

        Zenoh has no acknowledgements and returns at once, and other middleware may refuse to wait;
        there the whole time is left to the message.
        """
        if self._publisher is None:
            return
        acknowledges = get_rmw_implementation_identifier() != 'rmw_zenoh_cpp'
        try:
            self._publisher.wait_for_all_acked(Duration(seconds=DELIVERY_TIMEOUT))
        except MIDDLEWARE_ERRORS:
            acknowledges = False
        if not acknowledges:
            time.sleep(DELIVERY_TIMEOUT)

    def close(self) -> None:
        """Destroy the publisher."""
        self._node.outputs.remove(self)
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)


def _describe_topic(node: Node, name: str) -> str:
    """Return the full name of a topic, and its remapped name if that differs."""
    try:
        own, topic = (node.resolve_topic_name(name, only_expand=only) for only in (True, False))
    except MIDDLEWARE_ERRORS:
        return name
    return own if own == topic else f'{own} (remapped to {topic})'


class FrameOutputs(dict[tuple[str, str], Output]):
    """Publishers of the same topics for each of several frames, by frame and part of the name."""

    def __init__(self, node: GuardedNode, kinds: dict[str, Any]) -> None:
        """Start without frames.

        Args:
            node: the node.
            kinds: message type of each topic, by the last part of its name.
        """
        super().__init__()
        self._node, self._kinds = node, kinds

    def set_frames(self, frames: Sequence[str]) -> None:
        """Create and destroy publishers so that exactly these frames have topics."""
        names = topic_names(frames)
        for key in [key for key in self if key[0] not in names]:
            self.pop(key).close()
        for (frame, name), (part, kind) in product(names.items(), self._kinds.items()):
            if (frame, part) not in self:
                self[frame, part] = Output(self._node, kind, f'~/{name}/{part}')


MAX_BATCHES = 64
"""Maximum number of batches that a plan caches, one for each combination of publications."""

Component = Any
"""Component of a process, see ``context.Component``, which imports this module."""

FRESH, VELOCITY = 1, 2
"""Requirements on a state: that no joint and no base has been without new data for too long; the
velocity of every joint."""


class Publication(NamedTuple):
    """One output of a component.

    Attributes:
        output: the publisher.
        message: the message with the sources of its numbers; or, for messages that kernels and
            arrays cannot fill, a function that returns the filled template of the current state, or
            None if there is nothing to publish.
        needs: requirements on the state, ``FRESH | VELOCITY`` at most.
        rate: maximum rate [Hz]; 0: one message for every state.
    """

    output: Output
    message: Message | Callable[[], Template | None]
    needs: int = 0
    rate: float = 0.0


class Batch(Filling):
    """Publications whose kernels run in one program and whose messages are published together."""

    def __init__(self, members: Sequence[tuple[Component, Publication]]) -> None:
        filled: list[tuple[Component, Output]] = []
        messages: list[Message] = []
        self._others: list[tuple[Component, Output, Callable[[], Template | None]]] = []
        for component, (output, message, *_) in members:
            if isinstance(message, Message):
                filled.append((component, output))
                messages.append(message)
            else:
                self._others.append((component, output, message))
        super().__init__(messages)
        self._stamps = [place for template in self.templates for place in template.stamps]
        self._filled = [(*x, one.packed) for x, one in zip(filled, self.templates, strict=True)]

    def publish(self, stamp: bytes) -> None:
        """Publish all messages, and report publishers that fail.

        Args:
            stamp: stamp of the messages, packed as ``cdr.STAMP``.
        """
        for place in self._stamps:
            place[:] = stamp
        # Without a call of Python for each message: there are a dozen for each state.
        for component, output, packed in self._filled:
            output.published += 1
            try:
                output.publish_bytes(packed())
            except Exception as error:
                component.faults.report('publishing', error)
        for component, output, make in self._others:
            try:
                template = make()
            except Exception as error:
                component.failed(error)
                continue
            try:
                output.send(template, stamp)
            except Exception as error:
                component.faults.report('publishing', error)


Members = tuple[int, ...]
"""Indices of publications in a plan."""


class Plan:
    """Publications of all components of a process, for one epoch, with a cache of their batches."""

    def __init__(self, components: Iterable[Component]) -> None:
        """Collect the publications of the components."""
        self._components = list(components)
        self._members = [(one, each) for one in self._components for each in one.publications()]
        self._next_update = 0.0
        self._always: Members = ()  # with subscribers and without a rate
        self._limited: Members = ()
        self._batches: dict[Members, Batch] = {}

    def compute(self, state: RobotState, now: float) -> list[Batch]:
        """Run the kernels of all publications that are due for a state.

        Args:
            state: the robot state; its numbers are already in the arrays that the kernels read.
            now: time of the steady clock [s].

        Returns:
            The batches to publish: one for all components, or one for each component after a
            kernel has refused its numbers.
        """
        if now >= self._next_update:
            self._update_subscribers(now)
        lacking = (FRESH if state.stale else 0) | (VELOCITY if state.velocity_missing else 0)
        due, limited, unavailable = self._always, self._limited, bool(lacking)
        for component in self._components:
            unavailable |= bool(component.unavailable_reason)
        if unavailable:
            due, limited = (
                tuple(i for i in members if self._available(i, lacking))
                for members in (due, limited)
            )
            for component, (output, _, needs, _) in self._members:
                if not component.unavailable_reason and needs & lacking:
                    reason = _describe_lacking(needs & lacking, output.topic, state)
                    component.unavailable_reason = reason
        for i in limited:
            _, (output, _, _, rate) = self._members[i]
            if now >= output.limit.next and output.limit.passes(now, rate):
                due += (i,)
        return self._compute(due)

    def _available(self, i: int, lacking: int) -> bool:
        component, publication = self._members[i]
        return not (component.unavailable_reason or publication.needs & lacking)

    def _update_subscribers(self, now: float) -> None:
        """Update which outputs have subscribers; drop batches that can be built better now."""
        self._next_update = now + CHECK_PERIOD
        self._always = self._limited = ()
        for i, (_, one) in enumerate(self._members):
            if one.output.has_subscribers(now):
                if one.rate:
                    self._limited += (i,)
                else:
                    self._always += (i,)
        self._batches = {key: one for key, one in self._batches.items() if one.final}

    def _compute(self, due: Members) -> list[Batch]:
        batch = self._batches.get(due)
        if batch is None:
            if len(self._batches) >= MAX_BATCHES:
                self._batches.clear()
            batch = self._batches[due] = Batch([self._members[i] for i in due])
        try:
            batch.fill()
        except Exception as error:
            # Compute each component separately, so that the others publish.
            components = list(dict.fromkeys(self._members[i][0] for i in due))
            if len(components) > 1:
                each = [tuple(i for i in due if self._members[i][0] is one) for one in components]
                return [batch for own in each for batch in self._compute(own)]
            components[0].failed(error)
            return []
        return [batch]


def _describe_lacking(lacking: int, topic: str, state: RobotState) -> Explanation:
    if lacking & FRESH:
        return describe_stale(state)
    text = f'no {topic.rpartition("/")[2]}: no velocity of {", ".join(state.velocity_missing)}'
    return Explanation(Reason.VELOCITY_MISSING, text)
