# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot looked at: its description on a page of text (``inspect``), itself on one of the browser.

``show`` is the latter for scripts and notebooks.
"""

from .robot_page import RobotPage, show

__all__ = ['RobotPage', 'show']
