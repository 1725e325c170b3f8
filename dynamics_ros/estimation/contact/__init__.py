# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact detection and location: detector, thresholds, hypotheses, surface of the links.

May import ``robot`` and what is below it.
"""
