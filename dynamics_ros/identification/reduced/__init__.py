# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings reduced to triangular factors of their equations, and identification from these."""

from .identify import identify_reduced
from .reduction import Reducer, Reduction

__all__ = ['Reducer', 'Reduction', 'identify_reduced']
