# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The robot in force, its state and diagnostics, and what the components on it share.

Imports ``app``, ``parameters``, ``input`` and ``output``.
"""
