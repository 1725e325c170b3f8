# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Outputs of the nodes: publishers, rates, messages that are filled in place."""
