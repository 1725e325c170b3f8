# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""First-order low-pass filters for arrays of samples.

``scipy.signal`` also provides them but takes 70 MB and most of a second to load in each worker.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CHUNK = 64
"""Number of samples filtered in one matrix product."""


class LowPass:
    """y_k = d y_(k-1) + (1 - d) x_k, initialized with the first sample."""

    def __init__(self) -> None:
        self._last: Array | None = None

    def filtered(self, values: Array, decay: Array) -> Array:
        """Filters the next samples.

        With y_0 the last output, y_k = d^k y_0 + (1 - d) sum_(i = 1..k) d^(k - i) x_i, which is a
        product with a triangular matrix for several samples at a time.

        Args:
            values: (n, rows, columns).
            decay: (rows) factor d of each row, between 0 and 1.

        Returns:
            (n, rows, columns).
        """
        last = values[0] if self._last is None else self._last
        steps = np.arange(min(CHUNK, len(values)))
        lag = steps[:, np.newaxis] - steps
        one = decay[:, np.newaxis]
        weights = np.where(lag < 0, 0.0, one[..., np.newaxis] ** np.maximum(lag, 0))
        weights *= 1.0 - one[..., np.newaxis]
        remaining = (one ** (steps + 1))[..., np.newaxis]
        found = np.empty((values.shape[1], len(values), values.shape[2]))
        rows = np.ascontiguousarray(values.transpose(1, 0, 2))
        for begin in range(0, len(values), CHUNK):
            chunk = rows[:, begin : begin + CHUNK]
            count = chunk.shape[1]
            part = weights[:, :count, :count] @ chunk
            part += remaining[:, :count] * last[:, np.newaxis]
            found[:, begin : begin + count] = part
            last = part[:, -1]
        self._last = last
        return found.transpose(1, 0, 2)
