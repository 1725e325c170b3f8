# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of the publishers of a node's input topics, for diagnostics."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rclpy.node import Node
from rclpy.qos import QoSCompatibility, qos_check_compatible
from rclpy.topic_endpoint_info import TopicEndpointInfo

CHECK_PERIOD = 0.2
"""Period between two queries of the ROS graph [s], so that malformed messages cannot trigger one
query each."""


class Publishers:
    """Describes the publishers of the topics that a node subscribes to."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._cache: dict[str, tuple[float, str]] = {}

    def describe(self, name: str) -> str:
        """Return how many publishers a topic has, as a message at most ``CHECK_PERIOD`` old.

        Args:
            name: name of the topic as in the subscription; the message has the remapped full name.
        """
        now = time.monotonic()
        expires, text = self._cache.get(name, (now, ''))
        if now >= expires:
            text = self._query(name)
            self._cache[name] = now + CHECK_PERIOD, text
        return text

    def _query(self, name: str) -> str:
        topic = self._node.resolve_topic_name(name)
        publishers = self._node.get_publishers_info_by_topic(name)
        if not publishers:
            return f'{topic} has no publisher'
        own_node = self._node.get_namespace(), self._node.get_name()
        subscriptions = [
            info
            for info in self._node.get_subscriptions_info_by_topic(name)
            if (info.node_namespace, info.node_name) == own_node
        ]
        count = f'{len(publishers)} publisher{"s" if len(publishers) > 1 else ""}'
        reasons = {_incompatibility(publisher, subscriptions) for publisher in publishers}
        if '' in reasons:
            return f'{topic} has {count}'
        return f'{topic} has {count} that cannot be heard here ({", ".join(sorted(reasons))})'


def _incompatibility(
    publisher: TopicEndpointInfo, subscriptions: Sequence[TopicEndpointInfo]
) -> str:
    """Return why no subscription of ours matches a publisher; '' if one does."""
    reason = ''
    for subscription in subscriptions:
        if publisher.topic_type != subscription.topic_type:
            reason = f'it is of {publisher.topic_type}, not {subscription.topic_type}'
            continue
        verdict, explanation = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
        if verdict != QoSCompatibility.ERROR:
            return ''
        reason = explanation.strip(' ;')
    return reason
