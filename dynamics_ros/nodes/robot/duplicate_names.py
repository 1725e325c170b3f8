# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of other nodes with the same name, which would share topics and services."""

from __future__ import annotations

import time

from rclpy.node import Node

CHECK_PERIOD = 2.0
"""Period between two queries of the ROS graph [s]."""


class DuplicateNames:
    """Checks periodically whether the name of a node is unique."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._next_check = 0.0
        self._description = ''

    def describe(self) -> str:
        """Return how many nodes have the name, as a message at most ``CHECK_PERIOD`` old.

        The message is '' if the name is unique.
        """
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + CHECK_PERIOD
            own = self._node.get_name(), self._node.get_namespace()
            count = self._node.get_node_names_and_namespaces().count(own)
            name = self._node.get_fully_qualified_name()
            self._description = f'{count} nodes are named {name}' if count > 1 else ''
        return self._description
