# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Alternative explanations of a recording: mounting, joint order, signs, units, clock."""
