# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics, dynamics and contacts of a robot: all nodes. docs/launch.md has examples."""

from dynamics_ros.launching import (
    OUTPUTS,
    PROCESS,
    ROBOT,
    ROBOT_STATE_PUBLISHER,
    all_nodes,
    launch_description,
    parameters,
    rviz_arguments,
)

ARGUMENTS = (
    *ROBOT,
    *PROCESS,
    *OUTPUTS,
    *parameters('publish_tf autostart'),
    ROBOT_STATE_PUBLISHER,
    *rviz_arguments(),
)


def generate_launch_description():
    """All nodes, and what is asked for of robot_state_publisher and RViz."""
    return launch_description(ARGUMENTS, all_nodes)
