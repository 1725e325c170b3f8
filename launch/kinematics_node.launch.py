# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses and twists of frames as topics; kinematics as services: kinematics_node alone."""

from functools import partial

from dynamics_ros.launching import one_node

generate_launch_description = partial(one_node, 'kinematics_node')
