# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Changes gravity and payload of a running node, and waits for changed outputs.

Run as a program: `python -m benchmarks.ros_changer FRAME COUNT` in the namespace of the nodes,
while joint states of a robot at rest arrive. Prints one JSON object with the times from each
request to the first gravity torques that differ from the previous ones [ms].
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from sensor_msgs.msg import JointState

from dynamics_ros.nodes.process import make_executor
from dynamics_ros_msgs.msg import Payload, Result
from dynamics_ros_msgs.srv import SetGravity, SetPayload

TIMEOUT = 20.0

PAUSE = 0.3
"""Time between two changes, in which outputs settle [s]."""

CHANGED = 1e-9
"""Difference of gravity torques from which they count as changed [Nm]."""


class Changer:
    """Calls services and observes gravity torques."""

    def __init__(self, node: Node) -> None:
        self._executor = make_executor()
        self._executor.add_node(node)
        self._efforts: list[Any] = []
        topic, depth = 'dynamics_node/gravity_torques', QoSProfile(depth=100)
        node.create_subscription(JointState, topic, self._hear, depth)
        self._clients = {
            SetGravity: node.create_client(SetGravity, 'dynamics_node/set_gravity'),
            SetPayload: node.create_client(SetPayload, 'dynamics_node/set_payload'),
        }
        for client in self._clients.values():
            assert client.wait_for_service(TIMEOUT), 'the service is not there'

    def close(self) -> None:
        """Shut down the executor."""
        self._executor.shutdown()

    def _hear(self, message: JointState) -> None:
        self._efforts.append(np.array(message.effort))

    def spin(self, seconds: float) -> None:
        """Process messages for a time [s]."""
        self._executor.spin_until_future_complete(Future(), timeout_sec=seconds)

    def time_of(self, request: Any, kind: Any) -> float:
        """Time until a requested change is visible [ms].

        Raises:
            TimeoutError: it does not become visible.
        """
        while not self._efforts:
            self.spin(0.01)
        self.spin(PAUSE)
        before = self._efforts[-1]
        self._efforts.clear()
        asked = time.monotonic()
        future = self._clients[kind].call_async(request)
        while not any(np.abs(one - before).max() > CHANGED for one in self._efforts):
            self._efforts.clear()
            if time.monotonic() > asked + TIMEOUT:
                raise TimeoutError('a change does not take force')
            self._executor.spin_once(timeout_sec=0.1)
        taken = 1e3 * (time.monotonic() - asked)
        self._executor.spin_until_future_complete(future, timeout_sec=TIMEOUT)
        result = future.result().result
        assert result.code == Result.SUCCESS, result.message
        return taken


def gravity(tilt: float) -> Any:
    """Request for the gravity of a robot that is tilted by an angle [rad]."""
    request = SetGravity.Request()
    vector = request.gravity.vector
    vector.x, vector.z = -9.81 * np.sin(tilt), -9.81 * np.cos(tilt)
    return request


def payload(frame: str, mass: float) -> Any:
    """Request for a point mass [kg] at a frame."""
    request = SetPayload.Request(payload=Payload())
    request.payload.header.frame_id, request.payload.inertia.m = frame, mass
    return request


def main(frame: str, count: int) -> None:
    """Make the changes, and print their times."""
    rclpy.init(args=sys.argv)
    node = Node('benchmark_changer')
    changer = Changer(node)
    taken: dict[str, list[float]] = {'gravity': [], 'payload': []}
    for i in range(1, count + 1):
        taken['gravity'].append(changer.time_of(gravity(0.01 * i), SetGravity))
        taken['payload'].append(changer.time_of(payload(frame, 0.1 * i), SetPayload))
    changer.time_of(gravity(0.0), SetGravity)
    changer.time_of(payload(frame, 0.0), SetPayload)
    print(json.dumps(taken))
    changer.close()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
