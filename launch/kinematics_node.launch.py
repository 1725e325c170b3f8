# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses and twists of frames as topics; kinematics as services: kinematics_node alone."""

from dynamics_ros.launching import FRAMES, PROCESS, ROBOT, launch_description, nodes, publish_tf

ARGUMENTS = (*ROBOT, *PROCESS, FRAMES, publish_tf())


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(ARGUMENTS, lambda values: nodes(values, 'kinematics_node'))
