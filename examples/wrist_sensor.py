# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Makes contact_node identify what hangs on a wrist sensor; then says what touches the arm.

Without `--identify` it only says that.
"""

from __future__ import annotations

import argparse

import numpy as np
from geometry_msgs.msg import WrenchStamped
from identify_payload import identify
from rclpy.node import Node
from ros import latest, ros_node

from dynamics_ros_msgs.action import IdentifyPayload
from dynamics_ros_msgs.msg import ContactState, ExternalWrench


def touched(node: Node, settling: int = 100) -> str:
    """Force and its deviation after some messages, and the link in contact."""
    for _ in range(settling):
        measured = latest(node, ExternalWrench, 'contact_node/measured_estimate')
    force = measured.wrench.force
    size = np.linalg.norm([force.x, force.y, force.z])
    deviation = np.sqrt(np.diag(np.reshape(measured.covariance, (6, 6)))[:3].max())
    state = latest(node, ContactState, 'contact_node/contact_state')
    where = f'contact at {state.link}' if state.state != ContactState.NONE else 'no contact'
    return f'{where}: {size:.0f} N, each component known to {deviation:.2f} N'


def main() -> None:
    """Identify, and print the force."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--identify', type=float, metavar='SECONDS', help='duration [s]')
    duration = parser.parse_args().identify
    with ros_node('wrist_sensor') as node:
        if duration:
            goal = IdentifyPayload.Goal(duration=duration, apply=True)
            server, output = 'contact_node/identify_wrist_sensor', 'contact_node/measured_wrench'
            found = identify(node, goal, server, output, WrenchStamped)
            if found.result.code <= 0:
                raise SystemExit(found.result.message)
            print(f'{found.payload.inertia.m:.2f} kg, known to {found.mass_deviation:.3f} kg')
        print(touched(node))


if __name__ == '__main__':
    main()
