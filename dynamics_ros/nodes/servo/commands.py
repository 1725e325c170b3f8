# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where joint commands go: arrays for forward controllers, or trajectories of one point."""

from __future__ import annotations

import time

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dynamics_ros.control import JointCommand, JointStop
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.wire.conversions import duration_message, float_sequence

FINISH_PERIOD = 0.02
"""Largest time between two commands of a stop that is waited for [s]."""


class Commands:
    """Tells joints what to do next; whatever ends a motion ends it by the ramp that is sent here.

    Attributes:
        kind: 'trajectory', 'position' or 'velocity'.
        output: the topic.
    """

    def __init__(self, node: Node, kind: str) -> None:
        """Have the topic of a ``command_type``."""
        self.kind = kind
        trajectory = kind == 'trajectory'
        message = JointTrajectory if trajectory else Float64MultiArray
        name = '~/joint_trajectory' if trajectory else '~/joint_commands'
        self.output = Output(node, message, name)
        self._stop = JointStop()

    @property
    def last(self) -> JointCommand | None:
        """What was commanded last; None when there is nothing to bring to rest."""
        return self._stop.last

    def move(self, command: JointCommand, dt: float, acceleration: float) -> None:
        """Send a command of a motion.

        Args:
            command: the command.
            dt: s until the one after it.
            acceleration: by which its end is ramped [rad/s^2 or m/s^2].
        """
        # First what would have to be ended: the middleware may fail after it has sent.
        self._stop.moved(command, acceleration)
        self._send(command, dt)

    def brake(self, dt: float) -> bool:
        """Send the next command on the way to rest; whether there was one.

        Args:
            dt: s until the one after it.
        """
        command = self._stop.step(dt)
        if command is None:
            return False
        self._send(command, dt)
        return True

    def finish(self, period: float) -> None:
        """Send the whole way to rest, at most a second long, and wait until it has arrived.

        Args:
            period: s between two commands.
        """
        if self.last is None:
            return
        period = min(period, FINISH_PERIOD)
        elapsed, before = period, time.monotonic()
        while self.brake(min(elapsed, 2.0 * period)):
            time.sleep(period)
            elapsed, before = time.monotonic() - before, time.monotonic()
        self.output.wait_until_received()

    def close(self) -> None:
        """Take the topic away."""
        self.output.close()

    def _send(self, command: JointCommand, dt: float) -> None:
        if self.kind == 'velocity':
            self.output.publish(Float64MultiArray(data=float_sequence(command.v)))
            return
        if self.kind == 'position':
            self.output.publish(Float64MultiArray(data=float_sequence(command.q)))
            return
        point = JointTrajectoryPoint(
            positions=float_sequence(command.q),
            velocities=float_sequence(command.v),
            time_from_start=duration_message(dt),
        )
        # A stamp of zero: at once.
        self.output.publish(JointTrajectory(joint_names=list(command.joints), points=[point]))
