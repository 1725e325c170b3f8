# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calls the services of the nodes and an empty service alternately.

Run as a program: `python -m benchmarks.ros_caller STATE FRAME COUNT`, where STATE is a file with
the bytes of a joint state. Prints two JSON objects in a list: medians of the round trips, and of
the callbacks in the process of the nodes [us], by service.
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

from benchmarks.ros_ours import CALLBACKS, EMPTY
from dynamics_ros.nodes.process import make_executor
from dynamics_ros_msgs import srv
from dynamics_ros_msgs.msg import Result

TIMEOUT = 20.0

SHIFT = 0.1
"""Distance of the solution of inverse kinematics from its seed, in each joint [rad]."""


def main(file: str, frame: str, count: int) -> None:
    """Call the services, and print the medians."""
    rclpy.init(args=sys.argv)
    node = Node('benchmark_caller')
    executor = make_executor()
    executor.add_node(node)

    def call(client: Any, request: Any) -> tuple[Any, float]:
        """The response, and the time until it has come [us]."""
        started = time.perf_counter()
        future = client.call_async(request)
        executor.spin_until_future_complete(future, timeout_sec=TIMEOUT)
        return future.result(), 1e6 * (time.perf_counter() - started)

    def client_of(kind: Any, name: str) -> Any:
        client = node.create_client(kind, name)
        assert client.wait_for_service(TIMEOUT), f'{name} is not there'
        return client

    state = deserialize_message(Path(file).read_bytes(), JointState)
    moved = JointState(name=state.name, position=[q + SHIFT for q in state.position])
    poses = client_of(srv.ComputeForwardKinematics, 'kinematics_node/compute_forward_kinematics')
    asked = srv.ComputeForwardKinematics.Request(state=moved, frames=[frame])
    target = call(poses, asked)[0].poses[0]
    calls: dict[str, tuple[Any, Any]] = {'empty': (client_of(Trigger, EMPTY), Trigger.Request())}
    for owner, name, fields in (
        ('kinematics', 'ForwardKinematics', {'state': state, 'frames': [frame]}),
        ('kinematics', 'Jacobian', {'state': state, 'frame': frame}),
        ('kinematics', 'InverseKinematics', {'seed': state, 'frame': frame, 'target': target}),
        (
            'dynamics',
            'InverseDynamics',
            {'state': state, 'accelerations': [0.1] * len(state.name)},
        ),
        ('dynamics', 'ForwardDynamics', {'state': state}),
        ('dynamics', 'DynamicsTerms', {'state': state}),
    ):
        words = ''.join(f'_{x.lower()}' if x.isupper() else x for x in name)
        kind = getattr(srv, f'Compute{name}')
        client = client_of(kind, f'{owner}_node/compute{words}')
        calls[words[1:]] = client, kind.Request(**fields)
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(count):
        for name, (client, request) in calls.items():
            response, time_us = call(client, request)
            taken[name].append(time_us)
            if name != 'empty':
                assert response.result.code == Result.SUCCESS, response.result.message
    medians = {name: statistics.median(values) for name, values in taken.items()}
    callbacks, _ = call(client_of(Trigger, CALLBACKS), Trigger.Request())
    print(json.dumps([medians, json.loads(callbacks.message)]))
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
