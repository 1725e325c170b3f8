# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which nodes and components each executable runs in its process.

Imports the rooms of the nodes; nothing imports it.
"""
