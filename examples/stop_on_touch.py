# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Moves the tool of a robot slowly, and stops it when something touches the robot."""

from __future__ import annotations

import time

import rclpy
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from ros import ask, latest, ros_node
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from dynamics_ros_msgs.msg import ContactState

SPEED = 0.05
"""m/s, upward."""

SILENCE = 0.5
"""s without a word of contact_node, which may have ended, after which the tool is led no more."""

AT_REST = 0.005
"""rad/s."""


def move_until_touched(node: Node) -> ContactState:
    """Lead the tool until contact_node reports a contact; its report.

    Raises:
        SystemExit: contact_node reports nothing any more, so that nobody would feel a contact.
    """
    touched: list[ContactState] = []
    heard = time.monotonic()
    publisher = node.create_publisher(TwistStamped, 'cartesian_servo_node/twist_command', 10)

    def on_contact(state: ContactState) -> None:
        nonlocal heard
        heard = time.monotonic()
        if state.state != ContactState.NONE:
            touched.append(state)

    def lead() -> None:
        command = TwistStamped()
        command.header.stamp = node.get_clock().now().to_msg()
        command.twist.linear.z = SPEED
        publisher.publish(command)

    node.create_subscription(ContactState, 'contact_node/contact_state', on_contact, 10)
    timer = node.create_timer(0.02, lead)
    try:
        while not touched:
            rclpy.spin_once(node, timeout_sec=SILENCE)
            if time.monotonic() - heard > SILENCE:
                raise SystemExit('contact_node is silent: nobody would feel a contact; stopped')
    finally:
        node.destroy_timer(timer)
    return touched[0]


def main() -> None:
    """Move, feel, stop."""
    with ros_node('stop_on_touch') as node:
        ask(node, SetBool, 'cartesian_servo_node/pause', SetBool.Request(data=False))
        latest(node, ContactState, 'contact_node/contact_state')
        print('moving: touch the robot')
        try:
            state = move_until_touched(node)
        finally:
            ask(node, SetBool, 'cartesian_servo_node/pause', SetBool.Request(data=True))
        torques = dict(zip(state.joint_names, state.external_torques, strict=True))
        joint = max(torques, key=lambda name: abs(torques[name]))
        print(f'touched: {abs(torques[joint]):.0f} Nm at {joint}')
        while max(map(abs, latest(node, JointState, 'joint_states').velocity)) > AT_REST:
            pass
        print('the robot stands')


if __name__ == '__main__':
    main()
