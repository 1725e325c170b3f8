# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Turns machine code into functions of this Python: object layouts, arguments, entry points.

May import ``kernels.graph``, ``kernels.llvm``, ``kernels.process`` and ``errors``.
"""
