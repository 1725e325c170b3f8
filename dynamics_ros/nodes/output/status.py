# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topic ~/status of a node that commands a robot."""

from __future__ import annotations

import time
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from dynamics_ros.wire.conversions import diagnostic_status

from .outputs import Output

PERIOD = 0.1
"""Period of the messages [s]; a change is published at once."""


class Status:
    """Topic ~/status, which is published periodically and at every change.

    Attributes:
        output: publisher of the topic.
        text: text of the last message.
        subject: name of the described function, such as 'servo'.
    """

    def __init__(self, node: Node, subject: str) -> None:
        """Create the topic.

        Args:
            node: the node.
            subject: name of the described function.
        """
        self.output = Output(node, DiagnosticStatus, '~/status')
        self.text, self.subject = '', subject
        self._name = f'{node.get_name()}: {subject}'
        self._last_time = 0.0

    def is_due(self, text: str) -> bool:
        """Return whether a text is new, or was last published ``PERIOD`` ago."""
        return text != self.text or time.monotonic() - self._last_time >= PERIOD

    def publish(self, text: str, ok: bool, robot: str, values: Mapping[str, str]) -> None:
        """Publish the status.

        Args:
            text: description of the current action.
            ok: whether there is no problem; otherwise the level is WARN.
            robot: name of the robot; '' without one.
            values: further values by name.
        """
        self.text, self._last_time = text, time.monotonic()
        level = DiagnosticStatus.OK if ok else DiagnosticStatus.WARN
        self.output.publish(diagnostic_status(level, self._name, text, robot, values))
