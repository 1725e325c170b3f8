# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Others who command the robot or lead it: it follows each in turn."""

from __future__ import annotations

import time
from collections.abc import Iterable

from rclpy.node import Node

CHECK_PERIOD = 0.5
"""Seconds between two looks at the graph."""


class Rivals:
    """Looks now and then who else publishes commands, and whether several publish targets."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._look_at = 0.0
        self._told = ''

    def told(self, commands: str, targets: Iterable[str]) -> str:
        """How many others there are on which topics, at most ``CHECK_PERIOD`` ago; '' for none.

        An inactive controller may have its publisher and be silent, so that this is no reason to
        stop.

        Args:
            commands: topic on which this node publishes.
            targets: topics to which it listens.
        """
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + CHECK_PERIOD
            others = {commands: self._node.count_publishers(commands) - 1}
            others.update({topic: self._node.count_publishers(topic) - 1 for topic in targets})
            self._told = '; '.join(
                f'{"another publisher" if count == 1 else f"{count} other publishers"} on {topic}'
                for topic, count in others.items()
                if count > 0
            )
        return self._told
