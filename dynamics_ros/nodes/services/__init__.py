# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Requests to a node: their states, responses and refusals.

Imports ``robot``.
"""
