# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Twists or poses of a frame in, joint commands out: cartesian_servo_node alone."""

from functools import partial

from dynamics_ros.launching import one_node

generate_launch_description = partial(one_node, 'cartesian_servo_node')
