# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``impedance_controller_node``: torques that have the tool of an arm behave as on springs."""
