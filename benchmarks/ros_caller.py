# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calls inverse dynamics and an empty service alternately.

Run as a program: `python -m benchmarks.ros_caller STATE COUNT`, where STATE is a file with the
bytes of a joint state. Prints the medians of both round trips [us] as one JSON object.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from benchmarks.ros_ours import EMPTY
from dynamics_ros.nodes.process import make_executor
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeInverseDynamics

TIMEOUT = 20.0


def main(file: str, count: int) -> None:
    """Call both services, and print the medians."""
    rclpy.init(args=sys.argv)
    node = Node('benchmark_caller')
    executor = make_executor()
    executor.add_node(node)
    state = deserialize_message(Path(file).read_bytes(), JointState)
    dynamics = ComputeInverseDynamics.Request(state=state)
    dynamics.accelerations = [0.1] * len(state.name)
    asked = {
        'inverse dynamics': (ComputeInverseDynamics, 'dynamics_node/compute_inverse_dynamics'),
        'empty': (Trigger, EMPTY),
    }
    requests: dict[str, Any] = {'inverse dynamics': dynamics, 'empty': Trigger.Request()}
    clients = {name: node.create_client(*kind) for name, kind in asked.items()}
    taken: dict[str, list[float]] = {name: [] for name in asked}
    for client in clients.values():
        assert client.wait_for_service(TIMEOUT), 'the service is not there'
    for _ in range(count):
        for name, client in clients.items():
            started = time.perf_counter()
            future = client.call_async(requests[name])
            executor.spin_until_future_complete(future, timeout_sec=TIMEOUT)
            taken[name].append(1e6 * (time.perf_counter() - started))
            if name != 'empty':
                assert future.result().result.code == Result.SUCCESS, future.result().result.message
    print(json.dumps({name: statistics.median(values) for name, values in taken.items()}))
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
