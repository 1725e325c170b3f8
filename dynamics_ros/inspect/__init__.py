# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inspection of a robot: its description as text (``inspect``), and a web page (``show``).

``show`` opens the page from scripts and notebooks.
"""

from dynamics_ros.page import RobotPage, show

__all__ = ['RobotPage', 'show']
