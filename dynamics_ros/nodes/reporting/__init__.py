# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reports of a node: its log, result codes, faults, counts and rates.

Imports ``wire``.
"""
