# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics and dynamics, one file per algorithm, over any scalar.

``recursion.py`` contains the passes over the tree that the others share. May import ``model``,
``spatial`` and ``algorithms.linear_algebra``.
"""
