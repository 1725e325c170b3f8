# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics, dynamics and contacts of a robot: all nodes. docs/launch.md has examples."""

from itertools import chain

from dynamics_ros.launching import arguments, processes
from dynamics_ros.launching.actions import launch_description


def generate_launch_description():
    """All nodes, and what is asked for of robot_state_publisher and RViz."""
    return launch_description(
        arguments.NODES,
        lambda settings: chain(
            processes.robot_state_publisher(settings),
            processes.all_nodes(settings),
            processes.rviz(settings),
        ),
    )
