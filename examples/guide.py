# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Holds the switch of the admittance for some seconds, and prints how far the tool was guided.

With ``--push FX FY FZ`` [N, in the root frame] it pushes the simulated robot meanwhile.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.duration import Duration
from rclpy.node import Node
from ros import ask, latest, ros_node
from std_msgs.msg import Bool

from dynamics_ros_msgs.srv import ApplyWrench

POSE = 'kinematics_node/tool0/pose'
SERVO = 'cartesian_servo_node'
PERIOD = 0.05
"""Between two messages of the switch [s]; it counts as released after command_timeout."""


class Switch:
    """Repeats true until it is released; a real one is read from a button that a person holds."""

    def __init__(self, node: Node) -> None:
        self._node, self.status = node, ''
        self._publisher = node.create_publisher(Bool, f'{SERVO}/admittance/enable', 1)
        node.create_subscription(DiagnosticStatus, f'{SERVO}/status', self._on_status, 10)
        self._pressed = False
        node.create_timer(PERIOD, self._send)

    def hold(self, seconds: float, pressed: bool = True) -> None:
        """Hold or release it for a time."""
        self._pressed, end = pressed, time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self._node, timeout_sec=PERIOD)

    def _on_status(self, status: DiagnosticStatus) -> None:
        self.status = status.message

    def _send(self) -> None:
        self._publisher.publish(Bool(data=self._pressed))


def tool(node: Node) -> np.ndarray:
    """Position (3) of the tool [m]."""
    at = latest(node, PoseStamped, POSE).pose.position
    return np.array([at.x, at.y, at.z])


def main() -> None:
    """Press until the wrench is followed, hold, release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=3.0, help='how long (default: 3)')
    parser.add_argument('--push', nargs=3, type=float, metavar='F', help='force [N]')
    options = parser.parse_args()
    with ros_node('guide') as node:
        switch = Switch(node)
        while not switch.status.startswith('following the wrench'):
            switch.hold(0.5, pressed=False)
            switch.hold(0.3)
        before = tool(node)
        print('guide the tool')
        if options.push:
            request = ApplyWrench.Request(frame='tool0')
            force = request.wrench.force
            force.x, force.y, force.z = options.push
            request.duration = Duration(seconds=options.seconds).to_msg()
            ask(node, ApplyWrench, 'robot_simulator/apply_wrench', request)
        switch.hold(options.seconds)
        status = switch.status
        switch.hold(1.0, pressed=False)
        print(status)
        print('the tool was guided by', ' '.join(f'{x:.2f}' for x in tool(node) - before), 'm')


if __name__ == '__main__':
    main()
