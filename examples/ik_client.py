# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Asks kinematics_node for the joint positions that lift the tool by 0.1 m."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from ros import ask, latest, ros_node

from dynamics_ros_msgs.srv import ComputeInverseKinematics

FRAME = 'tool0'


def main() -> None:
    """Take the pose of the tool, lift it, ask."""
    with ros_node('ik_client') as node:
        target = latest(node, PoseStamped, f'kinematics_node/{FRAME}/pose')
        target.pose.position.z += 0.1
        # An empty seed is the latest joint state: the solution is the one near to it.
        request = ComputeInverseKinematics.Request(frame=FRAME, target=target)
        response = ask(
            node,
            ComputeInverseKinematics,
            'kinematics_node/compute_inverse_kinematics',
            request,
        )
    for name, position in zip(response.solution.name, response.solution.position, strict=True):
        print(f'{name} {position:.3f}')


if __name__ == '__main__':
    main()
