# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a client on another host sees: one JSON line for each thing that is new, on standard output.

Run by test_two_hosts.py inside a network namespace: ``python network_watcher.py``.
"""

from __future__ import annotations

import json
import time
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

REPORT_PERIOD = 0.1
"""s"""


class Watcher(Node):
    """Counts poses and keeps what kinematics_node says of itself."""

    def __init__(self) -> None:
        super().__init__('network_watcher')
        self.told: dict[str, Any] = {'poses': 0, 'stamp': 0.0, 'status': ''}
        self.create_subscription(PoseStamped, '/kinematics_node/tool0/pose', self._on_pose, 10)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def _on_pose(self, message: PoseStamped) -> None:
        self.told['poses'] += 1
        self.told['stamp'] = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.startswith('kinematics_node'):
                self.told['status'] = status.message


def main() -> None:
    rclpy.init()
    watcher = Watcher()
    while rclpy.ok():
        until = time.monotonic() + REPORT_PERIOD
        while time.monotonic() < until:
            rclpy.spin_once(watcher, timeout_sec=0.02)
        print(json.dumps(watcher.told), flush=True)


if __name__ == '__main__':
    main()
