# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What each node can be told: frozen dataclasses, one file a node, with ranges and units.

Knows no ROS; ``nodes/parameters`` declares them. May import ``estimation`` and what is below it.
"""
