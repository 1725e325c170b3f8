# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topic of joint commands: arrays for forward controllers, or trajectories with one point."""

from __future__ import annotations

import time

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dynamics_ros.control import JointCommand, JointStop
from dynamics_ros.nodes.outputs import Output
from dynamics_ros.wire.conversions import duration_message, float_sequence

FINISH_PERIOD = 0.02
"""Maximum period of the commands of a stop that ``finish`` sends [s]."""


class Commands:
    """Topic of joint commands, with the velocity ramp that ends a motion.

    Attributes:
        kind: 'trajectory', 'position' or 'velocity'.
        output: publisher of the topic.
    """

    def __init__(self, node: Node, kind: str) -> None:
        """Create the topic of a ``command_type``."""
        self.kind = kind
        trajectory = kind == 'trajectory'
        message = JointTrajectory if trajectory else Float64MultiArray
        name = '~/joint_trajectory' if trajectory else '~/joint_commands'
        self.output = Output(node, message, name)
        self._stop = JointStop()

    @property
    def last(self) -> JointCommand | None:
        """Last command; None if the joints have been brought to rest."""
        return self._stop.last

    def move(self, command: JointCommand, dt: float, acceleration: float) -> None:
        """Send a command of a motion.

        Args:
            command: the command.
            dt: time until the next command [s].
            acceleration: deceleration of the ramp to rest [rad/s^2 or m/s^2].
        """
        # Before sending, because the middleware may raise an error after it has sent the command.
        self._stop.moved(command, acceleration)
        self._send(command, dt)

    def brake(self, dt: float) -> bool:
        """Send the next command of the ramp to rest, for a time [s]; return whether it exists."""
        command = self._stop.step(dt)
        if command is None:
            return False
        self._send(command, dt)
        return True

    def finish(self, period: float) -> None:
        """Send the ramp to rest with a period [s], and wait until subscribers have received it."""
        if self.last is None:
            return
        period = min(period, FINISH_PERIOD)
        elapsed, before = period, time.monotonic()
        while self.brake(min(elapsed, 2.0 * period)):
            time.sleep(period)
            elapsed, before = time.monotonic() - before, time.monotonic()
        self.output.wait_until_received()

    def close(self) -> None:
        """Destroy the topic."""
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
        # A zero stamp means that the trajectory starts at once.
        self.output.publish(JointTrajectory(joint_names=list(command.joints), points=[point]))
