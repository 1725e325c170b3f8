# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``impedance_controller_node``: Cartesian impedance control of an arm by joint torques."""
