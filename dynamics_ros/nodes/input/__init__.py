# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states and odometry as they come in: subscription, backlog, merging by name."""
