# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques, contact wrenches and the contact state: contact_node alone."""

from dynamics_ros.launching import CONTACT, PROCESS, ROBOT, launch_description, nodes

ARGUMENTS = (*ROBOT, *PROCESS, *CONTACT)


def generate_launch_description():
    """One node in a process of its own."""
    return launch_description(ARGUMENTS, lambda values: nodes(values, 'contact_node'))
