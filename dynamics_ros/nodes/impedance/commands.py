# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topic of torques for an effort controller, in the order of its joints."""

from __future__ import annotations

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.conversions import Array
from dynamics_ros.wire.message_template import MessageTemplate

NO_STAMP = packed_stamp(0)


class EffortCommands:
    """Topic ~/joint_commands.

    Attributes:
        output: its publisher.
    """

    def __init__(self, node: Node) -> None:
        self.output = Output(node, Float64MultiArray, '~/joint_commands')

    def filled(self, efforts: Array) -> MessageTemplate:
        """Return the message filled with efforts (n); the caller publishes it."""
        template = self.output.template(len(efforts), _zeros, ('data',))
        template.numbers[0][:] = efforts
        return template

    def send(self, efforts: Array) -> None:
        """Publish efforts (n)."""
        self.output.send(self.filled(efforts), NO_STAMP)

    def finish(self, efforts: Array) -> None:
        """Publish the last efforts (n), and wait until subscribers have received them."""
        self.send(efforts)
        self.output.wait_until_received()

    def close(self) -> None:
        """Destroy the topic."""
        self.output.close()


def _zeros(count: int) -> Float64MultiArray:
    return Float64MultiArray(data=[0.0] * count)
