# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records joint states into a table that calibrate_robot takes: record.py FILE.csv SECONDS.

A bag of `ros2 bag record /joint_states` does as well.
"""

from __future__ import annotations

import csv
import sys
from math import nan

import rclpy
from rclpy.qos import qos_profile_sensor_data
from ros import ros_node
from sensor_msgs.msg import JointState


def main(path: str, seconds: float) -> None:
    """Write one row a message, for so many seconds by their stamps."""
    rows: list[list[float]] = []
    names: list[str] = []

    def take(state: JointState) -> None:
        names[:] = names or state.name
        order = [state.name.index(name) for name in names]
        row = [state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec]
        for values in (state.position, state.velocity, state.effort):
            # What a driver does not measure is empty.
            row += [values[k] for k in order] if values else [nan] * len(order)
        rows.append(row)

    with ros_node('record') as node:
        node.create_subscription(JointState, 'joint_states', take, qos_profile_sensor_data)
        while not rows or rows[-1][0] - rows[0][0] < seconds:
            rclpy.spin_once(node)
    header = [f'{name}.{what}' for what in ('position', 'velocity', 'effort') for name in names]
    with open(path, 'w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['time', *header])
        writer.writerows(rows)
    print(f'{rows[-1][0] - rows[0][0]:.1f} s of {len(names)} joints in {path}')


if __name__ == '__main__':
    if len(sys.argv) != 3:
        raise SystemExit('usage: record.py FILE.csv SECONDS')
    main(sys.argv[1], float(sys.argv[2]))
