# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Linear equations of recordings, filtered and in blocks of time, and their columns of friction."""

from .rows import (
    MIN_MOVING_ROWS,
    Chunk,
    EquationMaker,
    Equations,
    Filtering,
)

__all__ = [
    'MIN_MOVING_ROWS',
    'Chunk',
    'EquationMaker',
    'Equations',
    'Filtering',
]
