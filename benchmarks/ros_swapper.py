# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Repeatedly gives a node another robot description.

Run as a program: `python -m benchmarks.ros_swapper URDF FRAME EVERY COUNT` in the namespace of the
nodes. Robot number i has an additional mass of i times ``LOAD`` at the frame. Prints a JSON object
per robot and line: its number, and the times of its request and of its use [ns, monotonic clock].
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future

from dynamics_ros.nodes.process import make_executor

LOAD = 0.01
"""Mass [kg]."""

TIMEOUT = 60.0


def described(urdf: str, frame: str, number: int) -> str:
    """Description with a load, and a robot name with its number."""
    mass = LOAD * number
    load = (
        f'<link name="load"><inertial><mass value="{mass:.17g}"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        f'<joint name="load" type="fixed"><parent link="{frame}"/><child link="load"/></joint>'
    )
    begin, end = urdf.index('<robot'), urdf.rindex('</robot>')
    _, body = urdf[begin:end].split('>', 1)
    return f'<robot name="{named(number)}">{body}{load}</robot>'


def named(number: int) -> str:
    """Name of a robot."""
    return f'loaded{number}'


def main(file: str, frame: str, every: float, count: int) -> None:
    """Replace the robot until all descriptions have been used."""
    rclpy.init(args=sys.argv)
    node = Node('benchmark_swapper')
    executor = make_executor()
    executor.add_node(node)
    urdf, in_force = Path(file).read_text(), set()

    def hear(message: DiagnosticArray) -> None:
        in_force.update(status.hardware_id for status in message.status)

    node.create_subscription(DiagnosticArray, '/diagnostics', hear, 100)
    client = node.create_client(SetParameters, 'dynamics_node/set_parameters')
    assert client.wait_for_service(TIMEOUT), 'the service is not there'
    begun = time.monotonic()
    for number in range(1, count + 1):
        wait = begun + every * number - time.monotonic()
        executor.spin_until_future_complete(Future(), timeout_sec=max(wait, 0.001))
        parameter = Parameter('robot_description', value=described(urdf, frame, number))
        asked = time.monotonic_ns()
        future = client.call_async(SetParameters.Request(parameters=[parameter.to_parameter_msg()]))
        executor.spin_until_future_complete(future, timeout_sec=TIMEOUT)
        assert future.result().results[0].successful, future.result().results[0].reason
        deadline = time.monotonic() + TIMEOUT
        while named(number) not in in_force:
            assert time.monotonic() < deadline, f'robot {number} is not in force'
            executor.spin_until_future_complete(Future(), timeout_sec=0.01)
        told = {'number': number, 'asked': asked, 'ready': time.monotonic_ns()}
        print(json.dumps(told), flush=True)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
