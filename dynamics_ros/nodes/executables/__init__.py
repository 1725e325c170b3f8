# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes and components of each executable.

Imports the rooms of the nodes; nothing imports it.
"""
