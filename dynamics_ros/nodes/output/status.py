# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""~/status of a node that commands a robot: what it is doing, told at every change."""

from __future__ import annotations

import time
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from dynamics_ros.wire.conversions import diagnostic_status

from .outputs import Output

PERIOD = 0.1
"""Seconds between two messages; a change is told at once."""


class Status:
    """The topic ~/status.

    Attributes:
        output: the topic.
        said: its last text.
        subject: what it is about.
    """

    def __init__(self, node: Node, subject: str) -> None:
        """Have the topic.

        Args:
            node: the node.
            subject: what it is about, after the node's name.
        """
        self.output = Output(node, DiagnosticStatus, '~/status')
        self.said, self.subject = '', subject
        self._name = f'{node.get_name()}: {subject}'
        self._time = 0.0

    def is_due(self, text: str) -> bool:
        """Whether a text is new, or has not been said for ``PERIOD``."""
        return text != self.said or time.monotonic() - self._time >= PERIOD

    def tell(self, text: str, fine: bool, robot: str, values: Mapping[str, str]) -> None:
        """Say what the node is doing.

        Args:
            text: in words.
            fine: whether all is as it should be.
            robot: its name; '' without one.
            values: what else there is to know.
        """
        self.said, self._time = text, time.monotonic()
        level = DiagnosticStatus.OK if fine else DiagnosticStatus.WARN
        self.output.publish(diagnostic_status(level, self._name, text, robot, values))
