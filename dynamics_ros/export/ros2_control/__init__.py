# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Files of a ros2_control package for one arm: control laws in C, controllers and plugins."""

from .package import ControlPackage

__all__ = ['ControlPackage']
