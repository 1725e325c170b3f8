# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics and dynamics, one file an algorithm, over any scalar.

``recursion.py`` has the passes over the tree that the others share. May import ``model``,
``spatial`` and ``algorithms.linear_algebra``.
"""
