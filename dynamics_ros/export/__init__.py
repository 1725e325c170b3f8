# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Export of a robot's kernels as C for controllers without Python, and as ros2_control packages."""

from .files import export_kernels
from .packages import export_ros2_control

__all__ = ['export_kernels', 'export_ros2_control']
