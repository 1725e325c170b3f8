# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Twists or poses of a frame in, joint commands out: cartesian_servo_node alone."""

from dynamics_ros.launching import COMMANDS, PROCESS, ROBOT, argument, launch_description, nodes

ARGUMENTS = (
    *ROBOT,
    *PROCESS,
    *COMMANDS,
    argument(
        'command_type',
        'Commands: trajectory, for a joint_trajectory_controller; position or velocity, for a '
        'forward_command_controller. Empty: params_file, or trajectory.',
        choices=('', 'trajectory', 'position', 'velocity'),
    ),
)


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(ARGUMENTS, lambda values: nodes(values, 'cartesian_servo_node'))
