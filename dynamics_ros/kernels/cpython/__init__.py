# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How machine code becomes a function of this Python: layout of objects, arguments, entry points.

May import ``kernels.graph``, ``kernels.llvm``, ``kernels.process`` and ``errors``.
"""
