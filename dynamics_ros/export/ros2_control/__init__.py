# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A ros2_control package for one arm: control laws in C, with controllers and plugins."""

from .package import ControlPackage

__all__ = ['ControlPackage']
