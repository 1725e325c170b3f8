# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Factorizations, matrices and eigenvalues as straight-line code over any scalar.

May import ``spatial`` and ``errors``.
"""
