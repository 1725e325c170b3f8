# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters: which bodies can have them, and which combinations motion tells of."""
