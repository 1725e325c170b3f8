# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Algorithms of contact estimation: torque observers, wrenches, thresholds, outliers.

One file per algorithm, over any scalar. May import ``algorithms``, its linear algebra, ``model``
and ``spatial``.
"""
