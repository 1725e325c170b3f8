# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Requests to a node: the state that they are about, their answers and refusals.

Imports ``robot``.
"""
