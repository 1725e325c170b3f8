# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node says about itself: its log, result codes, faults, counts and rates.

Imports ``wire``.
"""
