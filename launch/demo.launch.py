# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot, all nodes on it, and RViz if it is installed."""

from dynamics_ros.launching import demo, demo_arguments, launch_description


def generate_launch_description():
    """The package's own arm, or the robot of robot_description_file."""
    return launch_description(demo_arguments(), demo)
