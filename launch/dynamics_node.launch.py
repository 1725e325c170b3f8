# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gravity torques as topics; dynamics as services: dynamics_node alone."""

from functools import partial

from dynamics_ros.launching import one_node

generate_launch_description = partial(one_node, 'dynamics_node')
