# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets of a tool in, torques of the joints out: impedance_controller_node alone."""

from functools import partial

from dynamics_ros.launching import one_node

generate_launch_description = partial(one_node, 'impedance_controller_node')
