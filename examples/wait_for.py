# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Waits until a topic has a message: wait_for.py TOPIC."""

from __future__ import annotations

import sys
from importlib import import_module

import rclpy
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from ros import ros_node


def published(node: Node, topic: str) -> str:
    """The type of a topic, as soon as it has a publisher."""
    name = node.resolve_topic_name(topic)
    while True:
        for info in node.get_publishers_info_by_topic(name):
            return str(info.topic_type)
        rclpy.spin_once(node, timeout_sec=0.1)


def main(topic: str) -> None:
    """Wait, and say that it is there."""
    with ros_node('wait_for') as node:
        package, _, kind = published(node, topic).split('/')
        received: list[object] = []
        node.create_subscription(
            getattr(import_module(f'{package}.msg'), kind),
            topic,
            received.append,
            qos_profile_sensor_data,
        )
        while not received:
            rclpy.spin_once(node, timeout_sec=0.1)
    print(f'{topic} is there')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit('usage: wait_for.py TOPIC')
    main(sys.argv[1])
