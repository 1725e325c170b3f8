# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The estimators on recordings: read rosbag2 files, write rosbag2 files and plots."""
