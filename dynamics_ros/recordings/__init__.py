# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Estimators on recordings: reads rosbag2 and ROS 1 bags, writes rosbag2 bags and plots."""
