# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steps and searches of inverse kinematics, and closed forms for arms of six and seven joints.

One file per algorithm, over any scalar. May import ``algorithms``, its linear algebra, ``model``
and ``spatial``.
"""
