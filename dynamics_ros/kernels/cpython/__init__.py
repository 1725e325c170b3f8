# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Python functions made of machine code: object layouts, arguments, entry points.

May import ``kernels.graph``, ``kernels.llvm``, ``kernels.process`` and ``errors``.
"""
