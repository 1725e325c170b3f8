# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Iterative inverse kinematics, and closed-form solutions for arms with six and seven joints.

One file per algorithm, over any scalar. May import ``algorithms``, its linear algebra, ``model``
and ``spatial``.
"""
