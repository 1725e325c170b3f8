# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A trace as LLVM IR, for one state or for a batch of states, and its compiler.

May import ``kernels.graph`` and ``kernels.process``.
"""
