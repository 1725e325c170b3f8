# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of traces, for one state or for a batch of states, and its compiler.

May import ``kernels.graph`` and ``kernels.process``.
"""
