# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pushes the simulated robot, and prints how far its tool has moved afterwards.

Run as `push.py FX FY FZ` [N, in the root frame]; `--help` lists the options.
"""

from __future__ import annotations

import argparse

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.duration import Duration
from rclpy.node import Node
from ros import ask, latest, ros_node
from sensor_msgs.msg import JointState

from dynamics_ros_msgs.srv import ApplyWrench

POSE = 'robot_simulator/ground_truth/pose'
MOVING = 0.02
"""Joint speed from which the robot counts as moving [rad/s]."""

STAYED = 0.01
"""Distance up to which the tool counts as unmoved [m]."""


def tool(node: Node) -> tuple[float, np.ndarray]:
    """Time [s] and position (3) of the tool [m]."""
    message = latest(node, PoseStamped, POSE)
    at, stamp = message.pose.position, message.header.stamp
    return stamp.sec + 1e-9 * stamp.nanosec, np.array([at.x, at.y, at.z])


def main() -> None:
    """Push, and unless ``--go-on`` is given wait for the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('force', nargs=3, type=float, help='force in the root frame [N]')
    parser.add_argument(
        '--seconds', type=float, default=1.0, help='duration [s] (default: %(default)s)'
    )
    parser.add_argument('--frame', default='tool0', help='pushed frame (default: %(default)s)')
    parser.add_argument('--when-moving', action='store_true', help='wait until the robot moves')
    parser.add_argument('--go-on', action='store_true', help='exit while the push continues')
    options = parser.parse_args()
    with ros_node('push') as node:
        while options.when_moving:
            state = latest(node, JointState, 'joint_states')
            if max(map(abs, state.velocity)) > MOVING:
                break
        began, before = tool(node)
        request = ApplyWrench.Request(frame=options.frame)
        request.wrench.force.x, request.wrench.force.y, request.wrench.force.z = options.force
        request.duration = Duration(seconds=options.seconds).to_msg()
        ask(node, ApplyWrench, 'robot_simulator/apply_wrench', request)
        force = np.linalg.norm(options.force)
        print(f'{force:g} N on {options.frame} for {options.seconds:g} s')
        now, after = tool(node)
        while not options.go_on and now < began + options.seconds + 1.0:
            now, after = tool(node)
        if not options.go_on:
            moved = float(np.linalg.norm(after - before))
            where = 'where it was' if moved < STAYED else f'{moved:.2f} m away'
            print(f'a second later the tool is {where}')


if __name__ == '__main__':
    main()
