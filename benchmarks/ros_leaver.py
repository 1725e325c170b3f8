# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Clients that leave between request and response, or wait for their response.

Run as a program: `python -m benchmarks.ros_leaver COUNT leave` or `... COUNT stay` in the namespace
of the nodes. Prints the number of requests as JSON.
"""

from __future__ import annotations

import json
import sys

import rclpy
from rclpy.node import Node

from dynamics_ros.nodes.process import make_executor
from dynamics_ros_msgs.srv import ComputeInverseDynamics

TIMEOUT, PATIENCE = 20.0, 1.0
"""Longest wait for the service, and for a response [s]."""

AT_ONCE = 30
"""Clients of one process that asks and leaves."""


def main(count: int, how: str) -> None:
    """Ask with one client after the other, and destroy them at once or once they are answered."""
    asked = 0
    while asked < count:
        context = rclpy.Context()
        rclpy.init(args=sys.argv, context=context)
        node = Node('benchmark_leaver', context=context)
        kind, name = ComputeInverseDynamics, 'dynamics_node/compute_inverse_dynamics'
        clients = [node.create_client(kind, name) for _ in range(min(AT_ONCE, count - asked))]
        for client in clients:
            assert client.wait_for_service(TIMEOUT), 'the service is not there'
        futures = [client.call_async(kind.Request()) for client in clients]
        if how == 'stay':
            executor = make_executor(context)
            executor.add_node(node)
            for future in futures:
                # On a busy machine, the service may not know a client yet, and drops its response.
                executor.spin_until_future_complete(future, timeout_sec=PATIENCE)
            executor.shutdown()
        asked += len(clients)
        node.destroy_node()
        rclpy.shutdown(context=context)
    print(json.dumps(asked))


if __name__ == '__main__':
    main(int(sys.argv[1]), sys.argv[2])
