# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The current robot, its state and diagnostics, and the shared data of its components.

Imports ``app``, ``parameters``, ``input`` and ``output``.
"""
