# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Twists or poses of a frame in, joint commands out: cartesian_servo_node alone."""

from dynamics_ros.launching import COMMANDS, PROCESS, ROBOT, launch_description, nodes, parameters

ARGUMENTS = (*ROBOT, *PROCESS, *COMMANDS, *parameters('command_type'))


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(ARGUMENTS, lambda values: nodes(values, 'cartesian_servo_node'))
