# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A ros2_control package for one arm: laws in C, and controllers and plugins around them."""

from .package import ControlPackage

__all__ = ['ControlPackage']
