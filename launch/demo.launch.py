# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot, all nodes on it, and RViz if it is installed."""

from dynamics_ros.launching import arguments, processes
from dynamics_ros.launching.actions import launch_description


def generate_launch_description():
    """The package's own arm, or the robot of description_file."""
    return launch_description(
        arguments.demo_arguments(str(processes.simulated_arm())), processes.demo
    )
