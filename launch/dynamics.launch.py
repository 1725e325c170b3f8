# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics, dynamics and contacts of a robot: all nodes. docs/launch.md has examples."""

from dynamics_ros.launching import all_nodes as generate_launch_description

__all__ = ['generate_launch_description']
