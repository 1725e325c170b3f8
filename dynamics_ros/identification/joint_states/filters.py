# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Zero-phase low-pass filters with derivatives.

The filter is a windowed sinc, evaluated only at the output samples, so filtering and downsampling
are one step. There are outputs only where the whole window contains data.

Sensor fusion of positions and velocities, for accelerations with less noise.

Accelerations are the second derivative of positions and the first derivative of velocities. The
noise of a second derivative grows with the square of the frequency; encoder steps and errors of
stamps act as noise of positions. If velocities are measured, and not differences of positions, the
part of the positions above ``CROSSOVER`` is replaced by integrated velocities:

    q = L(q) + integral of v - L(integral of v),

with a zero-phase low-pass filter L. Drivers filter velocities, which delays them; the delay is
estimated by comparison with the derivative of positions, and compensated. If it exceeds
``MAX_DELAY``, or velocities are not the derivative of positions, positions stay unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from .samples import JointSamples

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


CROSSOVER = 1.0
"""Crossover frequency; slower motion comes from positions, where offsets do not accumulate [Hz]."""

SETTLING, MIN_SAMPLES = 2.0, 20
"""Time of a filter at both ends together, and its least number of samples [s]."""

MAX_DELAY = 0.02
"""Largest delay of velocities [s]."""

MAX_GAIN_ERROR, MAX_RMS_DIFFERENCE = 0.03, 0.05
"""Largest gain error of velocities, and largest RMS difference from the derivative of positions."""

DIFFERENCES, NOISE_FACTOR = 6, 924.0
"""Order of the differences for noise estimation, and their factor on the noise variance."""


def with_velocities(stretch: JointSamples, highest: float) -> Array:
    """(n, joints) positions; above ``CROSSOVER`` integrated velocities if these have less noise.

    Args:
        stretch: stretch of a recording.
        highest: bandwidth of the accelerations [Hz].
    """
    q, v, period = stretch.position, stretch.velocity, stretch.period
    size = round(SETTLING / period)
    if v is None or len(q) < 3 * size or size < MIN_SAMPLES:
        return q
    slow = _low_pass(CROSSOVER, period)
    # Without the ends, where the filter lacks data on one side.
    whole = slice(size // 2, len(q) - size // 2)
    rate = np.gradient(slow(q), period, axis=0)
    change, rate = np.gradient(rate, period, axis=0)[whole], rate[whole]
    reported = slow(v)[whole]
    # Least squares of reported = slope rate - late change, for each joint.
    power, cross, own = (rate**2).sum(axis=0), (rate * change).sum(axis=0), (change**2).sum(axis=0)
    with_rate, with_change = (rate * reported).sum(axis=0), (change * reported).sum(axis=0)
    determinant = power * own - cross**2
    moved = determinant > 1e-9 * power.max() * own.max()
    if not moved.any():
        return q
    determinant = np.where(moved, determinant, np.inf)
    slope = (own * with_rate - cross * with_change) / determinant
    # One delay for all joints, because the driver filters all alike.
    late = float(np.median(((cross * with_rate - power * with_change) / determinant)[moved]))
    if abs(late) > MAX_DELAY:
        return q
    left = np.sqrt(((reported - rate + late * change) ** 2).sum(axis=0))
    near = moved & (left < MAX_RMS_DIFFERENCE * np.sqrt(power))
    near &= np.abs(slope - 1.0) < MAX_GAIN_ERROR
    # Compare the noise of accelerations: positions are differentiated twice, velocities once.
    used = near & (white_noise(v) < 2.0 * np.pi * highest * white_noise(q))
    found, times = q.copy(), period * np.arange(len(q))
    for j in np.flatnonzero(used):
        earlier = np.interp(times + late, times, v[:, j])
        fast = scipy.integrate.cumulative_trapezoid(earlier, dx=period, initial=0.0)
        found[:, j] = fast + slow(q[:, j] - fast)
    return found


def _low_pass(cutoff: float, period: float) -> Callable[[Array], Array]:
    """Zero-phase low-pass filter along the first axis."""
    numerator, denominator = scipy.signal.butter(2, 2.0 * cutoff * period)

    def filtered(values: Array) -> Array:
        # Relative to the first value, so that large positions lose no digits.
        first = values[:1]
        found: Array = first + scipy.signal.filtfilt(numerator, denominator, values - first, axis=0)
        return found

    return filtered


def white_noise(values: Array) -> Array:
    """(joints) standard deviation of noise and encoder steps of values (n, joints).

    Differences of high order remove motion.
    """
    found: Array = np.sqrt((np.diff(values, DIFFERENCES, axis=0) ** 2).mean(axis=0) / NOISE_FACTOR)
    return found
