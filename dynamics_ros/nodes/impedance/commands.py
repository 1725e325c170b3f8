# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torques for an effort controller, in the order of its joints."""

from __future__ import annotations

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.conversions import Array
from dynamics_ros.wire.message_template import MessageTemplate

NO_STAMP = packed_stamp(0)


class EffortCommands:
    """The topic ~/joint_commands.

    Attributes:
        output: the topic.
    """

    def __init__(self, node: Node) -> None:
        self.output = Output(node, Float64MultiArray, '~/joint_commands')

    def filled(self, efforts: Array) -> MessageTemplate:
        """The message with efforts (n), which is sent by whoever asks for it."""
        template = self.output.template(len(efforts), _zeros, ('data',))
        template.numbers[0][:] = efforts
        return template

    def send(self, efforts: Array) -> None:
        """Send efforts (n)."""
        self.output.send(self.filled(efforts), NO_STAMP)

    def finish(self, efforts: Array) -> None:
        """Send the last efforts (n), and wait until they have arrived."""
        self.send(efforts)
        self.output.wait_until_received()

    def close(self) -> None:
        """Take the topic away."""
        self.output.close()


def _zeros(count: int) -> Float64MultiArray:
    return Float64MultiArray(data=[0.0] * count)
