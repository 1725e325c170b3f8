# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a robot as C, for controllers that have no Python."""

from .files import export_kernels

__all__ = ['export_kernels']
