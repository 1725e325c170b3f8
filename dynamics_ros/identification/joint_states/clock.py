# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Resampling of joint states to equal time steps, from stamps with jitter, losses and gaps.

Drivers sample with a regular clock, but many stamps are arrival times with jitter: a clock is
fitted to them. The stamps themselves are used if they are far from it, as where samples were lost
or the pace of a loop changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

MAX_LATE = 0.5
"""Mean deviation of stamps from a regular clock from which they are used as they are [periods]."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Samples at equal time steps.

    Attributes:
        start: first stamp [s].
        period: sampling period [s].
        position, effort: (n, joints) [rad or m], [Nm or N].
        velocity: (n, joints) [rad/s or m/s]; None if not recorded.
    """

    start: float
    period: float
    position: Array
    velocity: Array | None
    effort: Array

    def __len__(self) -> int:
        return len(self.position)


def regular_stretches(samples: JointSamples) -> list[Stretch]:
    """Samples at the median period of the recording, divided at gaps; computed once.

    Raises:
        UnusableRecordingError: fewer than ten samples, or an implausible sampling period.
    """
    if samples not in _STRETCHES:
        _STRETCHES[samples] = _regular_stretches(samples)
    return list(_STRETCHES[samples])


_STRETCHES: WeakKeyDictionary[JointSamples, list[Stretch]] = WeakKeyDictionary()


def _regular_stretches(samples: JointSamples) -> list[Stretch]:
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


def _resampled(samples: JointSamples, period: float) -> Stretch:
    time, q, ticks = samples.time, samples.position, np.arange(len(samples))
    clock = np.asarray(np.polyval(np.polyfit(ticks, time, 1), ticks))
    if np.abs(time - clock).mean() < MAX_LATE * period:
        time, period = clock, float(np.min(np.diff(clock)))
    count = round((time[-1] - time[0]) / period) + 1
    grid = time[0] + period * np.arange(count)
    if count == len(time) and np.abs(grid - time).max() < 1e-3 * period:
        return Stretch(time[0], period, q, samples.velocity, samples.effort)
    grid = np.minimum(grid, time[-1])
    velocity = None if samples.velocity is None else _linear(grid, time, samples.velocity)
    smooth: Array = scipy.interpolate.CubicSpline(time, q)(grid)
    return Stretch(time[0], period, smooth, velocity, _linear(grid, time, samples.effort))


def _linear(grid: Array, time: Array, values: Array) -> Array:
    return np.stack([np.interp(grid, time, column) for column in values.T], axis=1)


def extremes_of(stretches: Sequence[Stretch]) -> Array:
    """(2, nv) lowest and highest positions [rad or m]."""
    lowest = np.min([one.position.min(axis=0) for one in stretches], axis=0)
    highest = np.max([one.position.max(axis=0) for one in stretches], axis=0)
    return np.array([lowest, highest])
