# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pauses cartesian_servo_node at a contact, until it is told to go on."""

from __future__ import annotations

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import SetBool

from dynamics_ros_msgs.msg import ContactState


def main() -> None:
    """Wait for events; the latched state at the start counts as one."""
    rclpy.init()
    node = Node('stop_on_contact_event')
    servo = node.create_client(SetBool, 'cartesian_servo_node/pause')
    servo.wait_for_service()

    def on_event(event: ContactState) -> None:
        if event.state != ContactState.NONE:
            servo.call_async(SetBool.Request(data=True))
            print(f'contact at {event.link}: the servo is paused', flush=True)

    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(ContactState, 'contact_node/contact_events', on_event, latched)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        raise SystemExit(130) from None


if __name__ == '__main__':
    main()
