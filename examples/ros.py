# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the examples share: a node for a while, the next message of a topic, a call of a service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.wait_for_message import wait_for_message

ASK_AGAIN = 3.0
"""Seconds without a response after which a request is sent again."""


@contextmanager
def ros_node(name: str) -> Iterator[Node]:
    """A node, as long as the block lasts; Ctrl-C ends the program without a traceback."""
    rclpy.init()
    node = Node(name)
    try:
        yield node
    except BaseException as error:
        if rclpy.ok() and not isinstance(error, KeyboardInterrupt):
            raise
        raise SystemExit(130) from None  # a signal, which rclpy tells in several ways
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def latest(node: Node, kind: Any, topic: str) -> Any:
    """The next message of a topic, which is waited for."""
    while True:
        received, message = wait_for_message(
            kind, node, topic, qos_profile=qos_profile_sensor_data, time_to_wait=5.0
        )
        if received:
            return message
        print(f'waiting for {topic}', file=sys.stderr)


def ask(node: Node, kind: Any, service: str, request: Any) -> Any:
    """The response of a service, whose result has to be a success where it has one."""
    client = node.create_client(kind, service)
    while not client.wait_for_service(5.0):
        print(f'waiting for {service}', file=sys.stderr)
    while True:
        future = client.call_async(request)
        rclpy.spin_until_future_complete(node, future, timeout_sec=ASK_AGAIN)
        if future.done():
            break
    response = future.result()
    result = getattr(response, 'result', None)
    if result is not None and result.code <= 0:
        raise SystemExit(f'{service}: {result.message}')
    return response
