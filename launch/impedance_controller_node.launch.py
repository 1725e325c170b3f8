# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets of a tool in, torques of the joints out: impedance_controller_node alone."""

from dynamics_ros.launching import COMMANDS, PROCESS, ROBOT, launch_description, nodes, parameters

ARGUMENTS = (*ROBOT, *PROCESS, *COMMANDS, *parameters('mode'))


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(ARGUMENTS, lambda values: nodes(values, 'impedance_controller_node'))
