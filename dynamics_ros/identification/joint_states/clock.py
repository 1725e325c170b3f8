# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Resampling of joint states to equal time steps, from stamps with jitter, losses and gaps.

Drivers sample with a regular clock, but many stamps are arrival times, up to several periods late.
Two clocks are fitted to the stamps, one that lost samples where stamps are late for good, and one
that lost none. The stamps themselves are used if they are far from both, such as those of a loop
whose pace changes.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import scipy
from numpy.typing import NDArray

from .samples import JointSamples, UnusableRecordingError

Array = NDArray[np.float64]

GAP_PERIODS, GAP_TIME = 6.0, 0.1
"""Largest time between samples that is interpolated, in periods and in s; both must be exceeded."""

MIN_PERIOD, MAX_PERIOD = 1e-5, 1.0
"""Range of plausible sampling periods [s]."""

MAX_LATE = 3.0
"""Mean deviation of stamps from a regular clock from which they are used as they are [periods]."""

NEIGHBOURS = 15
"""Samples on both sides that decide whether a delay is permanent, because samples were lost."""


def regular_stretches(samples: JointSamples) -> list[JointSamples]:
    """Samples at the median period of the recording, divided at gaps; computed once.

    Raises:
        UnusableRecordingError: fewer than ten samples, or an implausible sampling period.
    """
    if samples not in _STRETCHES:
        _STRETCHES[samples] = _regular_stretches(samples)
    return list(_STRETCHES[samples])


_STRETCHES: WeakKeyDictionary[JointSamples, list[JointSamples]] = WeakKeyDictionary()


def _regular_stretches(samples: JointSamples) -> list[JointSamples]:
    samples = samples.cleaned().without_spikes()
    if len(samples) < 10:
        raise UnusableRecordingError(f'{samples.source}: {len(samples)} samples are too few')
    steps = np.diff(samples.time)
    period = _period(samples.time)
    if not MIN_PERIOD <= period <= MAX_PERIOD:
        raise UnusableRecordingError(
            f'{samples.source}: its samples are {period:.3g} s apart; expected stamps in seconds '
            '(a column "time"; "time_ns" is in nanoseconds), at least one sample a second'
        )
    breaks = np.flatnonzero(steps > max(GAP_PERIODS * period, GAP_TIME)) + 1
    found = []
    for part in np.split(np.arange(len(samples)), breaks):
        if len(part) >= 10:
            found.append(_resampled(samples.rows(part), period))
    return found


def _period(time: Array) -> float:
    """Period of the clock: the median step, or if messages come in bursts, a mean of many steps."""
    steps = np.diff(time)
    period = float(np.median(steps))
    count = min(100, len(steps))
    spans = time[count:] - time[:-count]
    refined = float(np.median(spans)) / count
    # Lost messages lengthen the mean; bursts of messages shorten most steps.
    return period if abs(refined - period) < 0.1 * period else refined


def _resampled(samples: JointSamples, period: float) -> JointSamples:
    time, q = samples.time, samples.position
    ticks = np.arange(len(time))
    clocks = [_fitted_clock(ticks, time)]
    for _ in range(3):
        ticks = _tick_numbers(time, period)
        period = float(np.polyfit(ticks, time, 1)[0])
    clocks.append(_fitted_clock(ticks, time))
    # Jitter of a full period looks like lost samples, so the clock without losses is tried too.
    late, clock = min(((float(np.abs(time - c).mean()), c) for c in clocks), key=lambda one: one[0])
    if late < MAX_LATE * period:
        time = clock
        period = float(np.min(np.diff(time)))
    count = round((time[-1] - time[0]) / period) + 1
    grid = time[0] + period * np.arange(count)
    if count == len(time) and np.abs(grid - time).max() < 1e-3 * period:
        return replace(samples, time=grid)
    inside = np.minimum(grid, time[-1])
    velocity = None if samples.velocity is None else _linear(inside, time, samples.velocity)
    return replace(
        samples,
        time=grid,
        position=scipy.interpolate.CubicSpline(time, q)(inside),
        velocity=velocity,
        effort=_linear(inside, time, samples.effort),
    )


def _fitted_clock(ticks: NDArray[np.int64], time: Array) -> Array:
    """(n) times of ticks, by a linear fit to the stamps."""
    return np.asarray(np.polyval(np.polyfit(ticks, time, 1), ticks), dtype=np.float64)


def _tick_numbers(time: Array, period: float) -> NDArray[np.int64]:
    """Tick number of each sample of a regular clock, counting lost samples."""
    late = np.flatnonzero(np.diff(time) > 1.5 * period) + 1
    lost = np.zeros(len(time), dtype=np.int64)
    expected = time - period * np.arange(len(time))
    for k in late:
        before = np.median(expected[max(0, k - NEIGHBOURS) : k])
        after = np.median(expected[k : k + NEIGHBOURS])
        # Limit the number, because the medians include other losses nearby.
        most = round((time[k] - time[k - 1]) / period) - 1
        lost[k] = min(most, max(0, round((after - before) / period)))
    return np.arange(len(time)) + np.cumsum(lost)


def _linear(grid: Array, time: Array, values: Array) -> Array:
    return np.stack([np.interp(grid, time, column) for column in values.T], axis=1)
