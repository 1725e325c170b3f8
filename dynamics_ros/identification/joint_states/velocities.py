# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sensor fusion of positions and velocities, for accelerations with less noise.

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

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from .clock import Stretch

Array = NDArray[np.float64]

CROSSOVER = 1.0
"""Crossover frequency; slower motion comes from positions, where offsets do not accumulate [Hz]."""

WINDOW, MIN_SPEED_SHARE = 2.0, 0.1
"""Duration of a compared window [s]; share of the RMS speed from which a window is used."""

MAX_DELAY = 0.02
"""Largest delay of velocities [s]."""

MAX_GAIN_ERROR, MAX_RMS_DIFFERENCE = 0.03, 0.05
"""Largest gain error of velocities, and largest RMS difference from the derivative of positions."""

MIN_WINDOWS, MIN_SAMPLES = 3, 20
"""Least number of windows, and of samples in each, for a comparison."""

DIFFERENCES, NOISE_FACTOR = 6, 924.0
"""Order of the differences for noise estimation, and their factor on the noise variance."""


def with_velocities(stretch: Stretch, highest: float) -> Array:
    """(n, joints) positions; above ``CROSSOVER`` integrated velocities if these have less noise.

    Args:
        stretch: stretch of a recording.
        highest: bandwidth of the accelerations [Hz].
    """
    q, v, period = stretch.position, stretch.velocity, stretch.period
    size = round(WINDOW / period)
    if v is None or len(q) < MIN_WINDOWS * size or size < MIN_SAMPLES:
        return q
    slow = _low_pass(CROSSOVER, period)
    # Split into windows, without the ends, where the filter lacks data on one side.
    whole = slice(size // 2, size // 2 + (len(q) - size) // size * size)
    rate = np.gradient(slow(q), period, axis=0)
    parts = rate, np.gradient(rate, period, axis=0), slow(v)
    rate, change, reported = (x[whole].reshape(-1, size, x.shape[1]) for x in parts)
    power, cross, own = (rate**2).sum(axis=1), (rate * change).sum(axis=1), (change**2).sum(axis=1)
    with_rate, with_change = (rate * reported).sum(axis=1), (change * reported).sum(axis=1)
    determinant = power * own - cross**2
    tell = (power > MIN_SPEED_SHARE**2 * power.mean(axis=0)) & (determinant > 0.0)
    moved = tell.any(axis=0)
    if not moved.any():
        return q
    slopes, lates = np.full((2, *power.shape), np.nan)
    np.divide(own * with_rate - cross * with_change, determinant, out=slopes, where=tell)
    np.divide(cross * with_rate - power * with_change, determinant, out=lates, where=tell)
    # One delay for all joints, because the driver filters all alike.
    late = float(np.median(np.nanmedian(lates[:, moved], axis=0)))
    if abs(late) > MAX_DELAY:
        return q
    left = np.sqrt(((reported - rate + late * change) ** 2).sum(axis=(0, 1)))
    slope = np.where(moved, np.nanmedian(np.where(moved, slopes, 1.0), axis=0), np.inf)
    near = (left < MAX_RMS_DIFFERENCE * np.sqrt(power.sum(axis=0))) & (
        np.abs(slope - 1.0) < MAX_GAIN_ERROR
    )
    # Compare the noise of accelerations: positions are differentiated twice, velocities once.
    used = near & (_noise(v) < 2.0 * np.pi * highest * _noise(q))
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


def _noise(values: Array) -> Array:
    """(joints) standard deviation of white noise; differences of high order remove motion."""
    found: Array = np.sqrt((np.diff(values, DIFFERENCES, axis=0) ** 2).mean(axis=0) / NOISE_FACTOR)
    return found
