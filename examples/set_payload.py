# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tells dynamics_node the payload at tool0: set_payload.py MASS HEIGHT [kg, m along z]."""

from __future__ import annotations

import sys

import rclpy
from rclpy.node import Node

from dynamics_ros_msgs.srv import SetPayload


def main() -> None:
    """Call the service, and print why it fails if it does."""
    mass, height = (float(text) for text in sys.argv[1:3])
    rclpy.init()
    node = Node('set_payload')
    client = node.create_client(SetPayload, 'dynamics_node/set_payload')
    client.wait_for_service()
    request = SetPayload.Request()
    request.payload.header.frame_id = 'tool0'
    request.payload.inertia.m = mass
    request.payload.inertia.com.z = height
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future)
    result = future.result().result
    rclpy.shutdown()
    if result.code <= 0:
        raise SystemExit(result.message)
    print(f'the payload is {mass:g} kg')


if __name__ == '__main__':
    main()
