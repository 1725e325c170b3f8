# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of each node: frozen dataclasses, one file per node, with ranges and units.

Independent of ROS; ``nodes/parameters`` declares them. May import ``estimation`` and what is below
it.
"""
