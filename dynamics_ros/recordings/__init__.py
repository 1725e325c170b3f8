# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The estimators over recordings: rosbag2 files in, rosbag2 files and plots out."""
