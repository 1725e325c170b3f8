# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot run: runs the planned motion on a robot through a joint_trajectory_controller."""
