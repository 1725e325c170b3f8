# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Curve with a bounded number of points for recordings of any length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

THINNED_POINTS = 5000
"""Number of points after thinning, which starts at twice as many; more cannot be distinguished in
print."""


class ThinnedCurve:
    """Stores every n-th row; n doubles whenever the storage is full.

    The last column of a stored row is the maximum over the rows that it represents, so that short
    events of that column, such as contacts, are not lost.
    """

    def __init__(self, width: int) -> None:
        """Creates an empty curve with ``width`` columns."""
        self._rows = np.zeros((2 * THINNED_POINTS, width))
        self._size, self._step, self._count = 0, 1, 0
        self._largest = -np.inf

    def add(self, values: Sequence[float]) -> None:
        """Adds a row."""
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
        """(n, width) stored rows."""
        return self._rows[: self._size]

    def _halve(self) -> None:
        kept = self._rows[1::2].copy()
        kept[:, -1] = np.maximum(self._rows[::2, -1], kept[:, -1])
        self._size //= 2
        self._rows[: self._size] = kept
        self._step *= 2
