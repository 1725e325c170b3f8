# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What runs in a ROS graph and what is wrong with it, on one screen: ``doctor``."""
