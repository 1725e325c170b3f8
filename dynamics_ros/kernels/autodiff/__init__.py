# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of expressions and of traces, by sweeps over the graph.

May import ``kernels.graph``.
"""
