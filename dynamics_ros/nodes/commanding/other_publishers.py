# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of other publishers of commands or targets, between which a robot would alternate."""

from __future__ import annotations

import time
from collections.abc import Iterable

from rclpy.node import Node

CHECK_PERIOD = 0.5
"""Period between two queries of the ROS graph [s]."""


class OtherPublishers:
    """Finds other publishers of the commands, and several publishers of the same targets."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._next_check = 0.0
        self._description = ''

    def describe(self, commands: str, targets: Iterable[str]) -> str:
        """Return the number of other publishers by topic; '' if there are none.

        The result is at most ``CHECK_PERIOD`` old. It is no reason to stop, because an inactive
        controller may have a publisher without using it.

        Args:
            commands: topic on which this node publishes.
            targets: topics to which this node subscribes.
        """
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + CHECK_PERIOD
            others = {commands: self._node.count_publishers(commands) - 1}
            others.update({topic: self._node.count_publishers(topic) - 1 for topic in targets})
            self._description = '; '.join(
                f'{"another publisher" if count == 1 else f"{count} other publishers"} on {topic}'
                for topic, count in others.items()
                if count > 0
            )
        return self._description
