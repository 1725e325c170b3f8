# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot run: runs the planned motion on a robot by a joint_trajectory_controller."""
