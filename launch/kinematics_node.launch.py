# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses and twists of frames as topics; kinematics as services: kinematics_node alone."""

from dynamics_ros.launching import PROCESS, ROBOT, launch_description, nodes, parameters

ARGUMENTS = (*ROBOT, *PROCESS, *parameters('frames publish_tf'))


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(ARGUMENTS, lambda values: nodes(values, 'kinematics_node'))
