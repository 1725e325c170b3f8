# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Other publishers on the topic of the commands, whose commands the robot follows in turn."""

from __future__ import annotations

import time

from rclpy.node import Node

LOOK_PERIOD = 0.5
"""Seconds between two looks at the graph."""


class Rivals:
    """Looks now and then who else publishes on a topic."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._look_at = 0.0
        self._told = ''

    def told(self, topic: str) -> str:
        """How many others there are, at most ``LOOK_PERIOD`` ago; '' for none.

        An inactive controller may have its publisher and be silent, so that this is no reason to
        stop.
        """
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_PERIOD
            others = self._node.count_publishers(topic) - 1
            publishers = 'another publisher' if others == 1 else f'{others} other publishers'
            self._told = f'{publishers} on {topic}' if others > 0 else ''
        return self._told
