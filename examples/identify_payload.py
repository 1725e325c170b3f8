# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Makes dynamics_node identify the payload of the robot, and apply it."""

from __future__ import annotations

import argparse
from typing import Any

import rclpy
from rclpy.action import ActionClient
from rclpy.node import Node
from ros import latest, ros_node
from sensor_msgs.msg import JointState

from dynamics_ros_msgs.action import IdentifyPayload


def identify(
    node: Node,
    goal: IdentifyPayload.Goal,
    server: str = 'dynamics_node/identify_payload',
    output: str = 'dynamics_node/gravity_torques',
    kind: Any = JointState,
) -> Any:
    """The result of the action of a node that has an output."""
    client: Any = ActionClient(node, IdentifyPayload, server)
    latest(node, kind, output)  # it knows robot and state
    client.wait_for_server()
    sent = client.send_goal_async(goal)
    rclpy.spin_until_future_complete(node, sent)
    handle = sent.result()
    if not handle.accepted:
        raise SystemExit(f'{server} does not take the goal; the log of the node says why')
    done = handle.get_result_async()
    rclpy.spin_until_future_complete(node, done)
    return done.result().result


def main() -> None:
    """Identify the payload, apply it, and print its mass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        '--frame', default='tool0', help='frame of the payload (default: %(default)s)'
    )
    parser.add_argument(
        '--duration', type=float, default=5.0, help='duration [s] (default: %(default)s)'
    )
    options = parser.parse_args()
    goal = IdentifyPayload.Goal(frame=options.frame, duration=options.duration, apply=True)
    with ros_node('identify_payload') as node:
        found = identify(node, goal)
    if found.result.code <= 0:
        raise SystemExit(found.result.message)
    print(f'{found.payload.inertia.m:.2f} kg, known to {found.mass_deviation:.2f} kg')


if __name__ == '__main__':
    main()
