# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Templates of a ros2_control package for one arm, and the numbers in them."""
