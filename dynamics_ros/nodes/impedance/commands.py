# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torques for an effort controller, in the order of its joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.nodes.commanding.moved_joints import moved_joints
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.robot import Robot
from dynamics_ros.wire.cdr import packed_stamp
from dynamics_ros.wire.conversions import Array
from dynamics_ros.wire.templates import MessageTemplate

DELIVERY = 0.2
"""Seconds that the last command has to arrive."""

NO_STAMP = packed_stamp(0)


class EffortCommands:
    """The topic ~/joint_commands.

    Attributes:
        output: the topic.
        last: (n) efforts that were sent last; None before the first.
    """

    def __init__(self, node: Node) -> None:
        self.output = Output(node, Float64MultiArray, '~/joint_commands')
        self.last: Array | None = None

    def filled(self, efforts: Array) -> MessageTemplate:
        """The message with efforts (n), which is sent by whoever asks for it."""
        template = self.output.template(len(efforts), _zeros, ('data',))
        template.numbers[0][:] = self.last = efforts
        return template

    def send(self, efforts: Array) -> None:
        """Send efforts (n)."""
        self.output.send(self.filled(efforts), NO_STAMP)

    def finish(self, efforts: Array) -> None:
        """Send the last efforts (n), and wait until they have arrived."""
        self.send(efforts)
        self.output.wait_until_received(DELIVERY)
        self.last = None

    def close(self) -> None:
        """Take the topic away."""
        self.output.close()


def _zeros(count: int) -> Float64MultiArray:
    return Float64MultiArray(data=[0.0] * count)


def check_joints(joints: Sequence[str]) -> None:
    """Refuse an array of commands whose order nobody has told.

    Raises:
        InvalidArgumentError: no joints, or one twice.
    """
    expected = 'the joints of the effort controller in its order'
    if not joints:
        raise InvalidArgumentError('command_joints', 'empty', expected)
    if len(set(joints)) != len(joints):
        raise InvalidArgumentError('command_joints', 'a joint is named twice', expected)


def joint_places(robot: Robot, frame: str, joints: Sequence[str]) -> Array:
    """Places of the commanded joints among the velocities.

    Raises:
        UnknownJointError: the robot does not have one.
        InvalidArgumentError: no joint moves the frame, or one that does is missing.
    """
    for name in joints:
        if name not in robot.joint_v_indices:
            raise UnknownJointError('command_joints', name, robot.joint_v_indices)
    moving = moved_joints(robot, frame)
    for name, index in robot.joint_v_indices.items():
        if moving[index] and name not in joints:
            problem = f'{name!r} moves {frame!r} and is missing'
            raise InvalidArgumentError('command_joints', problem, 'all joints that do')
    return np.array([robot.joint_v_indices[name] for name in joints])
