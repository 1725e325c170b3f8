# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Passes gravity torques to an effort controller: gravity_torques.py JOINT...

`dynamics_node` does the same by itself with the parameter `command_joints`, with limits of torques
and of their rates and as a managed node: prefer it on a robot.
"""

from __future__ import annotations

import sys
import time

import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

LONGEST_GAP = 0.5
"""s without torques after which nothing is sent any more."""


def main() -> None:
    """Pass torques on, in the order of the controller's joints, until none arrive."""
    joints = sys.argv[1:]
    if not joints:
        raise SystemExit(__doc__)
    rclpy.init()
    node = Node('gravity_torques')
    commands = node.create_publisher(Float64MultiArray, 'effort_controller/commands', 1)
    received: list[JointState] = []
    node.create_subscription(JointState, 'dynamics_node/gravity_torques', received.append, 1)
    latest = None
    try:
        while latest is None or time.monotonic() - latest < LONGEST_GAP:
            rclpy.spin_once(node, timeout_sec=LONGEST_GAP)
            if not received:
                continue
            latest = time.monotonic()
            torques = dict(zip(received[-1].name, received[-1].effort, strict=True))
            received.clear()
            if not set(joints) <= set(torques):
                raise SystemExit(f'dynamics_node does not know {set(joints) - set(torques)}')
            commands.publish(Float64MultiArray(data=[torques[joint] for joint in joints]))
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        raise SystemExit(130) from None
    # The controller keeps the last torques, which hold the arm where it was.
    raise SystemExit('no gravity torques for 0.5 s: activate another controller')


if __name__ == '__main__':
    main()
