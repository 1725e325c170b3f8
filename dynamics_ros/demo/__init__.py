# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Demonstration: a simulated robot, the real nodes, and a client that checks their outputs."""
