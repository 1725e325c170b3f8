# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Zero-phase low-pass filters with the derivatives of what they let through.

A symmetric window of a sampled sinc, computed only where a result is wanted, so that filtering and
taking fewer samples are one step. Results are only where the whole window has data.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]

LOBES = 4.0
"""Half length of the window, in half periods of the cutoff frequency."""

FINE = 64
"""Points between two samples at which the window is differentiated."""


class LowPass:
    """A filter for samples of one period.

    Attributes:
        period: of the samples [s].
        cutoff: frequency of which a half is let through [Hz].
        every: one result for so many samples.
        half: samples that the window takes on each side.
    """

    def __init__(self, period: float, cutoff: float, every: int = 1) -> None:
        self.period, self.cutoff, self.every = period, cutoff, every
        self.half = max(2, math.ceil(0.5 * LOBES / (cutoff * period)))
        self._windows = self._kernels()

    def count(self, samples: int) -> int:
        """How many results so many samples give."""
        return max(0, (samples - 2 * self.half - 1) // self.every + 1)

    def centers(self, samples: int) -> NDArray[np.int64]:
        """Index of the sample that each result is at."""
        return self.half + self.every * np.arange(self.count(samples))

    def __call__(self, values: Array, derivative: int = 0) -> Array:
        """Filter along the first axis.

        Args:
            values: (n, ...).
            derivative: 0, 1 or 2: of the filtered values, per second.
        """
        window = self._windows[derivative]
        count, length = self.count(len(values)), len(window)
        if not count:
            return np.zeros((0, *values.shape[1:]))
        flat = np.ascontiguousarray(values).reshape(len(values), -1)
        views = np.lib.stride_tricks.sliding_window_view(flat, length, axis=0)[:: self.every]
        filtered = np.einsum('tcw,w->tc', views[:count], window, optimize=False)
        return filtered.reshape(count, *values.shape[1:])

    def gain(self, derivative: int = 0) -> float:
        """Deviation of a filtered value, or of a derivative, for white noise of 1."""
        return float(np.linalg.norm(self._windows[derivative]))

    def _kernels(self) -> tuple[Array, Array, Array]:
        lags = np.arange(-self.half, self.half + 1) * self.period
        reach = (self.half + 1) * self.period
        fine = np.linspace(-reach, reach, 2 * (self.half + 1) * FINE + 1)
        shape = np.sinc(2.0 * self.cutoff * fine) * np.cos(0.5 * np.pi * fine / reach) ** 2
        spline = scipy.interpolate.CubicSpline(fine, shape)
        smooth = spline(lags)
        smooth /= smooth.sum()
        # Windows are applied as sums, so the derivative of the kernel has its sign turned once.
        slope = -spline(lags, 1)
        slope /= slope @ lags
        bend = spline(lags, 2)
        bend -= smooth * bend.sum()
        # What a parabola gives is exact; the moments of the smoothing part are taken out first.
        bend *= 2.0 / (bend @ lags**2)
        return smooth, slope, bend
