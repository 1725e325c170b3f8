# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node publishes: only when somebody listens, and not faster than asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from typing import Any

from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.rclpy_private import bytes_publisher
from dynamics_ros.nodes.reporting.middleware_errors import MIDDLEWARE_ERRORS, in_words
from dynamics_ros.nodes.reporting.rate_limits import RateLimit
from dynamics_ros.wire.bytes_template import BytesTemplate
from dynamics_ros.wire.message_template import MessageTemplate
from dynamics_ros.wire.templates import message_template
from dynamics_ros.wire.topic_names import topic_names

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
"""What of an output `qos_overrides./TOPIC.publisher.*` overrides."""

CHECK_PERIOD = 0.045
"""Seconds between two looks at whether anybody listens: asking costs as much as a small kernel."""

DELIVERY_TIMEOUT = 0.2
"""Seconds that the last command of a motion has to arrive."""

MAX_TEMPLATES = 8
"""Templates that an output keeps, of those that it made last."""


def cap(own: float, general: float = 0.0) -> float:
    """Most messages a second; 0: no limit.

    Args:
        own: that of an output; negative: as all of the node.
        general: that of the node.
    """
    return general if own < 0.0 else own


class Output:
    """A publisher that knows whether it is worth its computation.

    Where the middleware refuses to make it, as DDS security does, it is as one that nobody listens
    to: what else a node publishes does not depend on it.

    Attributes:
        topic: fully qualified name of the topic; of one that is missing, before remapping as well.
        missing: why the middleware did not make it; '' when it did.
        published: how many messages have been.
        skipped: states that were not published because the rate of this output was reached.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        name: str,
        qos: QoSProfile = RELIABLE,
    ) -> None:
        """Make a publisher.

        Args:
            node: the node.
            kind: type of the messages.
            name: of the topic.
            qos: of the publisher.
        """
        # No QoS event callbacks: destroying a publisher that has some can crash the events
        # executor, and a frame that is no longer configured takes its publishers with it.
        silent = PublisherEventCallbacks(use_default_callbacks=False)
        self._node = node
        self.topic = name
        self.missing = ''
        self.published = 0
        self.skipped = 0
        self._limit = RateLimit()
        self._subscribed = False
        self._next_check = 0.0
        self._templates: dict[Hashable, MessageTemplate] = {}
        self._publisher: Publisher[Any] | None = None
        try:
            self.topic = node.resolve_topic_name(name)
            self._publisher = node.create_publisher(
                kind,
                name,
                copy(qos),  # which overrides are written into
                event_callbacks=silent,
                qos_overriding_options=OVERRIDABLE,
            )
        except MIDDLEWARE_ERRORS as error:
            self.topic, self.missing = _describe_topic(node, name), in_words(error)
            node.get_logger().error(f'{self.topic} cannot be published: {self.missing}')
            return
        except (RuntimeError, InvalidParameterTypeException) as error:
            parameters = f'qos_overrides.{self.topic}.publisher'
            raise InvalidArgumentError(parameters, str(error), 'a policy of ROS') from error
        self._publish = self._publisher.publish
        self._publish_bytes = bytes_publisher(self._publisher)

    def has_subscribers(self, now: float) -> bool:
        """Whether anybody listens, as of ``CHECK_PERIOD`` ago at the earliest."""
        if now >= self._next_check and self._publisher is not None:
            self._next_check = now + CHECK_PERIOD
            self._subscribed = self._publisher.get_subscription_count() > 0
        return self._subscribed

    def passes(self, now: float, rate: float) -> bool:
        """Whether so many messages a second allow one at the time ``now`` of the steady clock [s].

        A state that is not published is counted in ``skipped``.
        """
        # Mostly it is not yet time.
        if now < self._limit.next or not self._limit.passes(now, rate):
            self.skipped += 1
            return False
        return True

    def publish(self, message: Any) -> None:
        """Publish and count."""
        if self._publisher is None:
            return
        self._publish(message)
        self.published += 1

    def template(
        self, key: Hashable, prototype: Callable[[Any], Any], paths: Sequence[str]
    ) -> MessageTemplate:
        """The message of a key, of which only the stamp and some numbers change.

        Args:
            key: of everything else that is in it.
            prototype: makes the message of a key.
            paths: fields with the numbers that change.
        """
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) >= MAX_TEMPLATES:
                self._templates.pop(next(iter(self._templates)))
            template = self._templates[key] = message_template(prototype(key), paths)
        return template

    def publish_function(self, template: MessageTemplate) -> Callable[[Any], None]:
        """What publishes the messages of a template, without counting them."""
        return self._publish_bytes if type(template) is BytesTemplate else self._publish

    def send(self, template: MessageTemplate, stamp: bytes) -> None:
        """Publish a template as it is filled in, with a stamp packed as ``cdr.STAMP``."""
        self.published += 1
        self.publish_function(template)(template.message(stamp))

    def wait_until_received(self) -> None:
        """Wait until reliable subscribers have received all, ``DELIVERY_TIMEOUT`` at most."""
        if self._publisher is not None:
            self._publisher.wait_for_all_acked(Duration(seconds=DELIVERY_TIMEOUT))

    def close(self) -> None:
        """Take the topic away."""
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)


def _describe_topic(node: Node, name: str) -> str:
    """What a topic would be called, whether or not a topic may be."""
    try:
        own, topic = (node.resolve_topic_name(name, only_expand=only) for only in (True, False))
    except MIDDLEWARE_ERRORS:
        return name
    return own if own == topic else f'{own} (remapped to {topic})'


class FrameOutputs:
    """The publishers of several topics for each of several frames."""

    def __init__(self, node: Node, kinds: dict[str, Any]) -> None:
        """Begin without frames.

        Args:
            node: the node.
            kinds: last part of the topic name to its type.
        """
        self._node = node
        self._kinds = kinds
        self._outputs: dict[str, dict[str, Output]] = {}

    def set_frames(self, frames: Sequence[str]) -> None:
        """Have topics for these frames and no others."""
        names = topic_names(frames)
        for frame in set(self._outputs) - set(frames):
            for output in self._outputs.pop(frame).values():
                output.close()
        for frame, name in names.items():
            if frame in self._outputs:
                continue
            if name != frame:
                self._node.get_logger().info(f'frame {frame!r} has its topics under ~/{name}')
            self._outputs[frame] = {
                part: Output(self._node, kind, f'~/{name}/{part}')
                for part, kind in self._kinds.items()
            }

    def __getitem__(self, key: tuple[str, str]) -> Output:
        frame, part = key
        return self._outputs[frame][part]

    def all(self) -> list[Output]:
        """Every publisher."""
        return [output for parts in self._outputs.values() for output in parts.values()]
