# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishers that know whether they have subscribers and limit their rate."""

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
from dynamics_ros.nodes.reporting.middleware_errors import MIDDLEWARE_ERRORS, describe_error
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
"""QoS policies of an output that `qos_overrides./TOPIC.publisher.*` may override."""

CHECK_PERIOD = 0.045
"""Period between two queries for subscribers [s]; a query costs as much as a small kernel."""

DELIVERY_TIMEOUT = 0.2
"""Maximum time to wait until subscribers have received the last command of a motion [s]."""

MAX_TEMPLATES = 8
"""Maximum number of templates that an output caches."""


def cap(rate: float, default: float = 0.0) -> float:
    """Return the maximum rate of an output [Hz]; 0: no limit.

    Args:
        rate: rate of the output [Hz]; negative: use that of the node.
        default: rate of the node [Hz].
    """
    return default if rate < 0.0 else rate


class Output:
    """Publisher with detection of subscribers, a rate limit and cached message templates.

    If the middleware refuses to create the publisher, for example because of DDS security, the
    output behaves as if it had no subscribers, and other outputs are not affected.

    Attributes:
        topic: fully qualified name of the topic; if the publisher is missing, with its name before
            remapping.
        missing: why the middleware refused to create the publisher; '' if it did not.
        published: number of published messages.
        skipped: number of states that were not published because of the rate limit.
    """

    def __init__(
        self,
        node: Node,
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
                copy(qos),  # rclpy writes the overrides into it
                event_callbacks=silent,
                qos_overriding_options=OVERRIDABLE,
            )
        except MIDDLEWARE_ERRORS as error:
            self.topic, self.missing = _describe_topic(node, name), describe_error(error)
            node.get_logger().error(f'{self.topic} cannot be published: {self.missing}')
            return
        except (RuntimeError, InvalidParameterTypeException) as error:
            parameters = f'qos_overrides.{self.topic}.publisher'
            raise InvalidArgumentError(parameters, str(error), 'a policy of ROS') from error
        self._publish = self._publisher.publish
        self._publish_bytes = bytes_publisher(self._publisher)

    def has_subscribers(self, now: float) -> bool:
        """Return whether there are subscribers, from a query at most ``CHECK_PERIOD`` old.

        Args:
            now: time of the steady clock [s].
        """
        if now >= self._next_check and self._publisher is not None:
            self._next_check = now + CHECK_PERIOD
            self._subscribed = self._publisher.get_subscription_count() > 0
        return self._subscribed

    def passes(self, now: float, rate: float) -> bool:
        """Return whether the rate limit allows a message now; otherwise count it in ``skipped``.

        Args:
            now: time of the steady clock [s].
            rate: maximum rate [Hz]; 0: no limit.
        """
        # Fast path: usually the next message is not due yet.
        if now < self._limit.next or not self._limit.passes(now, rate):
            self.skipped += 1
            return False
        return True

    def publish(self, message: Any) -> None:
        """Publish a message and count it."""
        if self._publisher is None:
            return
        self._publish(message)
        self.published += 1

    def template(
        self, key: Hashable, prototype: Callable[[Any], Any], paths: Sequence[str]
    ) -> MessageTemplate:
        """Return the cached template of a key, or create it.

        Args:
            key: content of the message other than stamp and changing numbers.
            prototype: creates the message of a key.
            paths: fields with the changing numbers.
        """
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) >= MAX_TEMPLATES:
                self._templates.pop(next(iter(self._templates)))
            template = self._templates[key] = message_template(prototype(key), paths)
        return template

    def publish_function(self, template: MessageTemplate) -> Callable[[Any], None]:
        """Return the function that publishes messages of a template, without counting them."""
        return self._publish_bytes if type(template) is BytesTemplate else self._publish

    def send(self, template: MessageTemplate, stamp: bytes) -> None:
        """Publish a filled template with a stamp packed as ``cdr.STAMP``."""
        self.published += 1
        self.publish_function(template)(template.message(stamp))

    def wait_until_received(self) -> None:
        """Wait until reliable subscribers have received all, ``DELIVERY_TIMEOUT`` at most."""
        if self._publisher is not None:
            self._publisher.wait_for_all_acked(Duration(seconds=DELIVERY_TIMEOUT))

    def close(self) -> None:
        """Destroy the publisher."""
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)


def _describe_topic(node: Node, name: str) -> str:
    """Return the full name of a topic, and its remapped name if that differs."""
    try:
        own, topic = (node.resolve_topic_name(name, only_expand=only) for only in (True, False))
    except MIDDLEWARE_ERRORS:
        return name
    return own if own == topic else f'{own} (remapped to {topic})'


class FrameOutputs:
    """Publishers of the same topics for each of several frames."""

    def __init__(self, node: Node, kinds: dict[str, Any]) -> None:
        """Start without frames.

        Args:
            node: the node.
            kinds: message type of each topic, by the last part of its name.
        """
        self._node = node
        self._kinds = kinds
        self._outputs: dict[str, dict[str, Output]] = {}

    def set_frames(self, frames: Sequence[str]) -> None:
        """Create and destroy publishers so that exactly these frames have topics."""
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
        """Return all publishers."""
        return [output for parts in self._outputs.values() for output in parts.values()]
