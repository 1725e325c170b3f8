# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parts of a contact estimate: observer, wrench, excess over thresholds, outliers.

One file per algorithm, over any scalar. May import ``algorithms``, its linear algebra, ``model``
and ``spatial``.
"""
