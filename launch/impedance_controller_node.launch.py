# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets of a tool in, torques of the joints out: impedance_controller_node alone."""

from dynamics_ros.launching import arguments, processes
from dynamics_ros.launching.actions import launch_description


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(arguments.SHARED + arguments.IMPEDANCE, processes.impedance)
