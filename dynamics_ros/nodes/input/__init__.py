# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Incoming joint states and odometry: subscription, backlog, merging by name."""
