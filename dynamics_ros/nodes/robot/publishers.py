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
        self._told: dict[str, tuple[float, str]] = {}

    def of(self, name: str) -> str:
        """Return how many publishers a topic has, as a message at most ``CHECK_PERIOD`` old.

        Args:
            name: name of the topic as in the subscription; the message has the remapped full name.
        """
        now = time.monotonic()
        until, text = self._told.get(name, (now, ''))
        if now >= until:
            text = self._look(name)
            self._told[name] = now + CHECK_PERIOD, text
        return text

    def _look(self, name: str) -> str:
        topic = self._node.resolve_topic_name(name)
        publishers = self._node.get_publishers_info_by_topic(name)
        if not publishers:
            return f'{topic} has no publisher'
        here = self._node.get_namespace(), self._node.get_name()
        ours = [
            info
            for info in self._node.get_subscriptions_info_by_topic(name)
            if (info.node_namespace, info.node_name) == here
        ]
        count = f'{len(publishers)} publisher{"s" if len(publishers) > 1 else ""}'
        obstacles = {_obstacle(publisher, ours) for publisher in publishers}
        if '' in obstacles:
            return f'{topic} has {count}'
        return f'{topic} has {count} that cannot be heard here ({", ".join(sorted(obstacles))})'


def _obstacle(publisher: TopicEndpointInfo, ours: Sequence[TopicEndpointInfo]) -> str:
    """Return why no subscription of ours matches a publisher; '' if one does."""
    obstacle = ''
    for one in ours:
        if publisher.topic_type != one.topic_type:
            obstacle = f'it is of {publisher.topic_type}, not {one.topic_type}'
            continue
        verdict, why = qos_check_compatible(publisher.qos_profile, one.qos_profile)
        if verdict != QoSCompatibility.ERROR:
            return ''
        obstacle = why.strip(' ;')
    return obstacle
