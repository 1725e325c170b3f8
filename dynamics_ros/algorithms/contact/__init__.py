# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a contact estimate consists of: observer, wrench, excess over thresholds, departing samples.

One file an algorithm, over any scalar. May import ``algorithms``, its linear algebra, ``model`` and
``spatial``.
"""
