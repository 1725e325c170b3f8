# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``robot_simulator``: joint states of a simulated robot."""
