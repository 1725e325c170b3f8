# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trace as text: callable Python, or C.

May import ``kernels.graph``.
"""
