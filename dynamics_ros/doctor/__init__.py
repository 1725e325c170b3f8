# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes and problems of a ROS graph, on one screen: ``doctor``."""
