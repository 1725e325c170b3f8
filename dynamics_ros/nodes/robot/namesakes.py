# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Other nodes of the same name, which take requests and mix outputs with those of this one."""

from __future__ import annotations

import time

from rclpy.node import Node

CHECK_PERIOD = 2.0
"""Seconds between two looks at the graph."""


class Namesakes:
    """Looks now and then whether a node is the only one of its name."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._look_at = 0.0
        self._told = ''

    def told(self) -> str:
        """How many nodes have the name, at most ``CHECK_PERIOD`` ago; '' if it is alone."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + CHECK_PERIOD
            own = self._node.get_name(), self._node.get_namespace()
            count = self._node.get_node_names_and_namespaces().count(own)
            name = self._node.get_fully_qualified_name()
            self._told = f'{count} nodes are named {name}' if count > 1 else ''
        return self._told
