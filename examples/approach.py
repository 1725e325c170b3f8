# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Leads the tool of a robot towards a ball, which cartesian_servo_node keeps it off."""

from __future__ import annotations

import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from lead import SPEED, Leader
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros import ros_node
from visualization_msgs.msg import Marker, MarkerArray

AHEAD, RADIUS, WAY = 0.3, 0.1, 0.25
"""Distance of the ball's centre, its radius, and the way of the tool without it [m]."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def main() -> None:
    """To the ball, and on when it is gone."""
    with ros_node('approach') as node:
        leader = Leader(node)
        before = leader.x
        said: list[str] = []
        node.create_subscription(
            DiagnosticStatus,
            'cartesian_servo_node/status',
            lambda status: said.append(status.message),
            10,
        )
        obstacles = node.create_publisher(MarkerArray, 'cartesian_servo_node/obstacles', LATCHED)
        ball = Marker(header=leader.pose.header, ns='ball', type=Marker.SPHERE)
        ball.pose.position.x = before + AHEAD
        ball.pose.position.y = leader.pose.pose.position.y
        ball.pose.position.z = leader.pose.pose.position.z
        ball.scale.x = ball.scale.y = ball.scale.z = 2.0 * RADIUS
        obstacles.publish(MarkerArray(markers=[ball]))
        leader.speed, last = SPEED, before
        while True:
            for _ in range(100):
                rclpy.spin_once(node)
            if said and 'close: ' in said[-1] and abs(leader.x - last) < 1e-4:
                break
            last = leader.x
        print(f'stopped after {leader.x - before:.2f} m, {said[-1]}')
        ball.action = Marker.DELETE
        obstacles.publish(MarkerArray(markers=[ball]))
        leader.lead(before + WAY)
        print(f'and without the ball after {leader.x - before:.2f} m')


if __name__ == '__main__':
    main()
