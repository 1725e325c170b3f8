# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``cartesian_servo_node``: velocities towards a target, within limits."""
