# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trace as text: Python, which can be called, or C.

May import ``kernels.graph``.
"""
