# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels as functions of other libraries for arrays, with their exact derivatives.

One file a library, which is imported when a function is made; may import ``kernels``.
"""
