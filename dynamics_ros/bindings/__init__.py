# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of other array libraries, with their exact derivatives.

One file per library, which is imported when a function is created; may import ``kernels``.
"""
