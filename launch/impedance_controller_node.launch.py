# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets of a tool in, torques of the joints out: impedance_controller_node alone."""

from dynamics_ros.launching import COMMANDS, PROCESS, ROBOT, argument, launch_description, nodes

ARGUMENTS = (
    *ROBOT,
    *PROCESS,
    *COMMANDS,
    argument(
        'mode',
        'Mode impedance: follow targets; guiding: follow a guiding hand. Empty: params_file, or '
        'impedance.',
        choices=('', 'impedance', 'guiding'),
    ),
)


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(ARGUMENTS, lambda values: nodes(values, 'impedance_controller_node'))
