# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a robot as C, for controllers without Python, and packages for ros2_control."""

from .files import export_kernels
from .packages import export_ros2_control

__all__ = ['export_kernels', 'export_ros2_control']
