# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Leads the tool of a robot 0.1 m along x and back through cartesian_servo_node."""

from __future__ import annotations

import rclpy
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from ros import latest, ros_node

POSE = 'kinematics_node/tool0/pose'
SPEED = 0.05
"""m/s."""


class Leader:
    """Sends twists again and again, since the servo forgets them, and watches the tool.

    Attributes:
        speed: of the tool along x of the root frame [m/s].
        pose: of the tool.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.speed = 0.0
        self._publisher = node.create_publisher(
            TwistStamped, 'cartesian_servo_node/twist_command', 10
        )
        self.pose = latest(node, PoseStamped, POSE)
        node.create_subscription(PoseStamped, POSE, self._on_pose, 10)
        node.create_timer(0.02, self._send)

    @property
    def x(self) -> float:
        """Of the tool [m]."""
        return self.pose.pose.position.x

    def lead(self, x: float) -> None:
        """Move along x of the root frame until the tool is there [m], then stop."""
        self.speed = SPEED if x > self.x else -SPEED
        while (x - self.x) * self.speed > 0.0:
            rclpy.spin_once(self._node)
        self.speed = 0.0
        for _ in range(100):
            rclpy.spin_once(self._node)

    def _on_pose(self, message: PoseStamped) -> None:
        self.pose = message

    def _send(self) -> None:
        command = TwistStamped()
        command.header.stamp = self._node.get_clock().now().to_msg()
        command.twist.linear.x = self.speed
        self._publisher.publish(command)


def main() -> None:
    """There, back, and where the tool is."""
    with ros_node('lead') as node:
        leader = Leader(node)
        before = leader.x
        leader.lead(before + 0.1)
        print(f'moved by {leader.x - before:.2f} m')
        leader.lead(before)
        print(f'and back to {abs(leader.x - before):.2f} m')


if __name__ == '__main__':
    main()
