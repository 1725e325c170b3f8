# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pose and twist of a moving base at the time of a joint state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from .reports import Array

NEVER = -(2**62)
"""Stamp of a quantity without a received or finite value: as early as subtraction allows."""

LONG_AGO = NEVER + 1
"""Stamp of values that were received before the clock was set back."""

DEPTH = 16
"""Number of samples that are kept."""

ALIGNED = 100_000_000
"""Maximum time over which the twist extrapolates a pose [ns]: five periods of odometry at 50 Hz.
For a base that brakes with 2 m/s^2 the error is then 1 cm."""


class BaseSample(NamedTuple):
    """Coordinates q of the root joint and its velocity v at a stamp [ns]."""

    stamp: int
    q: Array
    v: Array


class MovingBase:
    """Last samples of a moving base, with interpolation in time."""

    def __init__(self, carry: Callable[[Array, Array], Array]) -> None:
        """Creates it without samples.

        Args:
            carry: integrates coordinates by a tangent vector (velocity times time).
        """
        self._carry = carry
        self._samples: deque[BaseSample] = deque(maxlen=DEPTH)

    @property
    def stamp(self) -> int:
        """Stamp of the newest sample [ns]; ``NEVER`` if there is none."""
        return self._samples[-1].stamp if self._samples else NEVER

    @property
    def interval(self) -> float:
        """Usual interval of the samples [ns]; 0 while unknown."""
        samples = self._samples
        if len(samples) < 2 or samples[0].stamp == LONG_AGO:
            return 0.0
        return (samples[-1].stamp - samples[0].stamp) / (len(samples) - 1)

    def add(self, sample: BaseSample) -> bool:
        """Adds a sample; returns False if it is older than the newest one."""
        if sample.stamp < self.stamp:
            return False
        if sample.stamp == self.stamp:
            self._samples.pop()
        self._samples.append(sample)
        return True

    def set_back(self) -> None:
        """Marks the newest sample as old after the clock was set back, and drops the others."""
        if self._samples:
            newest = self._samples[-1]
            self._samples.clear()
            self._samples.append(newest._replace(stamp=LONG_AGO))

    def adopt(self, other: MovingBase) -> None:
        """Copies the samples of another base."""
        self._samples = other._samples.copy()

    def newest(self) -> BaseSample | None:
        """Returns the newest sample; None if there is none."""
        return self._samples[-1] if self._samples else None

    def at(self, time: int) -> tuple[Array, Array]:
        """Returns q and v at a time [ns].

        q is that of the nearest sample, extrapolated by its twist for at most ``ALIGNED``; v is
        interpolated between two samples.
        """
        after = self._samples[-1]
        for before in reversed(self._samples):
            if before.stamp <= time:
                break
            after = before
        span = after.stamp - before.stamp
        v = before.v
        if before.stamp <= time < after.stamp and before.stamp != LONG_AGO:
            v = v + (time - before.stamp) / span * (after.v - v)
        nearest = before if abs(time - before.stamp) <= abs(after.stamp - time) else after
        elapsed = min(max(time - nearest.stamp, -ALIGNED), ALIGNED)
        if not elapsed or nearest.stamp == LONG_AGO:
            return nearest.q, v
        return self._carry(nearest.q, elapsed * 1e-9 * nearest.v), v
