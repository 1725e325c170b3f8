# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Zero-phase low-pass filters with derivatives.

The filter is a windowed sinc, evaluated only at the output samples, so filtering and downsampling
are one step. There are outputs only where the whole window contains data.
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
"""Points per sample at which the window is evaluated for its spline."""


class LowPass:
    """Filter for samples of one period.

    Attributes:
        period: sampling period [s].
        cutoff: frequency with a gain of one half [Hz].
        every: downsampling factor.
        half: number of samples of the window on each side.
    """

    def __init__(self, period: float, cutoff: float, every: int = 1) -> None:
        self.period, self.cutoff, self.every = period, cutoff, every
        self.half = max(2, math.ceil(0.5 * LOBES / (cutoff * period)))
        self._windows = self._kernels()

    def count(self, samples: int) -> int:
        """Number of outputs for a number of samples."""
        return max(0, (samples - 2 * self.half - 1) // self.every + 1)

    def centers(self, samples: int) -> NDArray[np.int64]:
        """Index of the sample in the centre of each output."""
        return self.half + self.every * np.arange(self.count(samples))

    def __call__(self, values: Array, derivative: int = 0) -> Array:
        """Filter along the first axis.

        Args:
            values: (n, ...) samples.
            derivative: order of the time derivative of the output, 0, 1 or 2.
        """
        window = self._windows[derivative]
        count, length = self.count(len(values)), len(window)
        if not count:
            return np.zeros((0, *values.shape[1:]))
        flat = np.ascontiguousarray(values).reshape(len(values), -1)
        views = np.lib.stride_tricks.sliding_window_view(flat, length, axis=0)[:: self.every]
        filtered = window @ views[:count].transpose(0, 2, 1)
        return filtered.reshape(count, *values.shape[1:])

    def gain(self, derivative: int = 0) -> float:
        """Standard deviation of the output, or of its derivative, for white noise of 1."""
        return float(np.linalg.norm(self._windows[derivative]))

    def _kernels(self) -> tuple[Array, Array, Array]:
        lags = np.arange(-self.half, self.half + 1) * self.period
        reach = (self.half + 1) * self.period
        fine = np.linspace(-reach, reach, 2 * (self.half + 1) * FINE + 1)
        shape = np.sinc(2.0 * self.cutoff * fine) * np.cos(0.5 * np.pi * fine / reach) ** 2
        spline = scipy.interpolate.CubicSpline(fine, shape)
        smooth = spline(lags)
        smooth /= smooth.sum()
        # Windows are applied as sums, so the derivative of the kernel changes its sign.
        slope = -spline(lags, 1)
        slope /= slope @ lags
        bend = spline(lags, 2)
        bend -= smooth * bend.sum()
        # Exact for parabolas, after the moments of the smoothing window are subtracted.
        bend *= 2.0 / (bend @ lags**2)
        return smooth, slope, bend
