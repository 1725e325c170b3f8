# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A UR5e that reports no efforts, with a force-torque sensor at its flange and a tool of 1.2 kg.

It stops in six postures in turn; with `--push FX FY FZ` [N, in the sensor's axes] it stands and is
pushed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import rclpy
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import qos_profile_sensor_data
from ros import ros_node
from sensor_msgs.msg import JointState

from dynamics_ros import Robot

FRAME, PERIOD, STAY = 'tool0', 0.008, 2.0
MASS, CENTER = 1.2, np.array([0.0, 0.01, 0.06])
BIAS = np.array([3.0, -5.0, 9.0, 0.2, -0.1, 0.3])
NOISE = np.array([0.3, 0.3, 0.3, 0.01, 0.01, 0.01])
POSTURES = [
    [0.0, -1.6, 1.8, -1.8, -1.6, 0.0],
    [0.0, -1.6, 1.8, -0.8, -1.6, 1.0],
    [0.0, -1.6, 1.8, -2.6, -1.6, -1.0],
    [0.0, -1.6, 1.8, -1.8, -0.6, 0.5],
    [0.0, -1.6, 1.8, -1.8, -2.6, 2.0],
    [0.0, -1.6, 1.8, 0.2, -1.6, 0.0],
]


def main() -> None:
    """Publish joint states and readings until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--push', nargs=3, type=float, help='force in the axes of the sensor [N]')
    push = parser.parse_args().push
    robot = Robot.from_urdf(Path(__file__).parent / 'ur5e.urdf')
    external = np.array([*(push or (0.0, 0.0, 0.0)), 0.0, 0.0, 0.0])
    rng, steps = np.random.default_rng(0), 0
    with ros_node('simulate_wrist_sensor') as node:
        states = node.create_publisher(JointState, 'joint_states', 10)
        readings = node.create_publisher(WrenchStamped, 'wrench', qos_profile_sensor_data)

        def publish() -> None:
            nonlocal steps
            q = POSTURES[0 if push else int(steps * PERIOD / STAY) % len(POSTURES)]
            steps += 1
            state = JointState(name=list(robot.joint_names), position=q, velocity=[0.0] * 6)
            state.header.stamp = node.get_clock().now().to_msg()
            R = robot.forward_kinematics(np.array(q), FRAME)[:3, :3]
            weight = MASS * R.T @ [0.0, 0.0, -9.81]
            values = external + BIAS + NOISE * rng.normal(size=6)
            values += np.concatenate([weight, np.cross(CENTER, weight)])
            message = WrenchStamped()
            message.header.frame_id, message.header.stamp = FRAME, state.header.stamp
            force, torque = message.wrench.force, message.wrench.torque
            force.x, force.y, force.z, torque.x, torque.y, torque.z = values.tolist()
            readings.publish(message)
            states.publish(state)

        node.create_timer(PERIOD, publish)
        rclpy.spin(node)


if __name__ == '__main__':
    main()
