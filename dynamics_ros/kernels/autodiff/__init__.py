# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of expressions and traces by sweeps over the expression graph.

May import ``kernels.graph``.
"""
