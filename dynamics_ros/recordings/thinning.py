# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A curve of bounded size, whatever the length of the recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_POINTS = 5000
"""Of a curve; more cannot be told apart on paper."""


class ThinnedCurve:
    """Keeps one row of every so many; when there is no room for more, every second row goes.

    The last column is the largest of all rows that a row stands for, so that nothing short is lost
    of a state.
    """

    def __init__(self, width: int) -> None:
        """Begin empty, with so many columns."""
        self._rows = np.zeros((2 * MOST_POINTS, width))
        self._size, self._step, self._count = 0, 1, 0
        self._largest = -np.inf

    def add(self, values: Sequence[float]) -> None:
        """Add a row."""
        self._largest = max(self._largest, values[-1])
        self._count += 1
        if self._count < self._step:
            return
        row = self._rows[self._size]
        row[:] = values
        row[-1] = self._largest
        self._size, self._count, self._largest = self._size + 1, 0, -np.inf
        if self._size == len(self._rows):
            self._halve()

    @property
    def rows(self) -> Array:
        """(n, width) what is kept."""
        return self._rows[: self._size]

    def _halve(self) -> None:
        kept = self._rows[1::2].copy()
        kept[:, -1] = np.maximum(self._rows[::2, -1], kept[:, -1])
        self._size //= 2
        self._rows[: self._size] = kept
        self._step *= 2
