# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity torques as topics; dynamics as services: dynamics_node alone."""

from dynamics_ros.launching import PROCESS, ROBOT, launch_description, nodes, parameters

ARGUMENTS = (*ROBOT, *PROCESS, *parameters('autostart'))


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(ARGUMENTS, lambda values: nodes(values, 'dynamics_node'))
