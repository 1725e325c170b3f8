# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Readers of formats other than URDF to a RobotDescription: MJCF with mujoco, SDF with drake."""
