# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that have their fast part from recorded velocities, where those tell more of it.

Accelerations are the second derivative of positions and the first of velocities. Noise of a second
derivative grows with the square of the frequency, and steps of encoders, and stamps that are a
little off, are noise of positions. So where velocities are measured, and are not differences of
positions, what is faster than ``CROSSOVER`` comes from them:

    q = L(q) + v over time - L(v over time),

with a low pass L without phase. Drivers filter velocities, which makes them late; that shows beside
the derivative of positions, and velocities are taken as much earlier. Where they are late by more
than ``LATEST``, or are not the change of positions otherwise, positions are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from .clock import Stretch

Array = NDArray[np.float64]

CROSSOVER = 1.0
"""Hz: what is slower comes from positions, in which no offset adds up."""

WINDOW, MOVES = 2.0, 0.1
"""s that are compared at a time, and share of the usual speed from which on they tell something."""

LATEST = 0.02
"""s that velocities may be late."""

GAIN, NEARLY = 0.03, 0.05
"""Shares by which velocities may be larger than the change of positions, and differ from it."""

LEAST, FEW = 3, 20
"""Windows, and samples in each, that velocities are judged by at least."""

DIFFERENCES, WHITE = 6, 924.0
"""How often values are differenced for their noise, and what that makes of its variance."""


def with_velocities(stretch: Stretch, highest: float) -> Array:
    """(n, joints) positions, with their fast part from velocities where that has less noise.

    Args:
        stretch: of a recording.
        highest: frequency up to which accelerations are wanted [Hz].
    """
    q, v, period = stretch.position, stretch.velocity, stretch.period
    size = round(WINDOW / period)
    if v is None or len(q) < LEAST * size or size < FEW:
        return q
    slow = _low_pass(CROSSOVER, period)
    # Without the ends, where the filter has nothing on one side, in windows.
    whole = slice(size // 2, size // 2 + (len(q) - size) // size * size)
    rate = np.gradient(slow(q), period, axis=0)
    parts = rate, np.gradient(rate, period, axis=0), slow(v)
    rate, change, told = (x[whole].reshape(-1, size, x.shape[1]) for x in parts)
    power, cross, own = (rate**2).sum(axis=1), (rate * change).sum(axis=1), (change**2).sum(axis=1)
    with_rate, with_change = (rate * told).sum(axis=1), (change * told).sum(axis=1)
    determinant = power * own - cross**2
    tell = (power > MOVES**2 * power.mean(axis=0)) & (determinant > 0.0)
    moved = tell.any(axis=0)
    if not moved.any():
        return q
    slopes, lates = np.full((2, *power.shape), np.nan)
    np.divide(own * with_rate - cross * with_change, determinant, out=slopes, where=tell)
    np.divide(cross * with_rate - power * with_change, determinant, out=lates, where=tell)
    # One driver filters all joints alike.
    late = float(np.median(np.nanmedian(lates[:, moved], axis=0)))
    if abs(late) > LATEST:
        return q
    left = np.sqrt(((told - rate + late * change) ** 2).sum(axis=(0, 1)))
    slope = np.where(moved, np.nanmedian(np.where(moved, slopes, 1.0), axis=0), np.inf)
    near = (left < NEARLY * np.sqrt(power.sum(axis=0))) & (np.abs(slope - 1.0) < GAIN)
    # As accelerations: noise of positions twice differentiated, beside that of velocities once.
    used = near & (_noise(v) < 2.0 * np.pi * highest * _noise(q))
    found, times = q.copy(), period * np.arange(len(q))
    for j in np.flatnonzero(used):
        earlier = np.interp(times + late, times, v[:, j])
        fast = scipy.integrate.cumulative_trapezoid(earlier, dx=period, initial=0.0)
        found[:, j] = fast + slow(q[:, j] - fast)
    return found


def _low_pass(cutoff: float, period: float) -> Callable[[Array], Array]:
    """A filter along the first axis, without phase."""
    numerator, denominator = scipy.signal.butter(2, 2.0 * cutoff * period)

    def filtered(values: Array) -> Array:
        # From the first value on, so that large positions lose no digits.
        first = values[:1]
        found: Array = first + scipy.signal.filtfilt(numerator, denominator, values - first, axis=0)
        return found

    return filtered


def _noise(values: Array) -> Array:
    """(joints) deviation of white noise; motion goes on smoothly and leaves nothing."""
    found: Array = np.sqrt((np.diff(values, DIFFERENCES, axis=0) ** 2).mean(axis=0) / WHITE)
    return found
