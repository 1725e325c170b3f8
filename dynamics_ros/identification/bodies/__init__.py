# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters: physically possible ones, and combinations that a motion identifies."""
