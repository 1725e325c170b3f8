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
    """Last samples of a moving base, with interpolation in time.

    Attributes:
        samples: the samples, the newest last.
    """

    def __init__(self, carry: Callable[[Array, Array], Array]) -> None:
        """Creates it without samples.

        Args:
            carry: integrates coordinates by a tangent vector (velocity times time).
        """
        self._carry = carry
        self.samples: deque[BaseSample] = deque(maxlen=DEPTH)

    @property
    def stamp(self) -> int:
        """Stamp of the newest sample [ns]; ``NEVER`` if there is none."""
        return self.samples[-1].stamp if self.samples else NEVER

    @property
    def interval(self) -> float:
        """Usual interval of the samples [ns]; 0 while unknown."""
        count = len(self.samples) - 1
        return (self.samples[-1].stamp - self.samples[0].stamp) / count if count > 0 else 0.0

    def add(self, sample: BaseSample) -> bool:
        """Adds a sample; returns False if it is older than the newest one."""
        if sample.stamp < self.stamp:
            return False
        if sample.stamp == self.stamp:
            self.samples.pop()
        self.samples.append(sample)
        return True

    def at(self, time: int) -> tuple[Array, Array]:
        """Returns q and v at a time [ns].

        q is that of the nearest sample, extrapolated by its twist for at most ``ALIGNED``; v is
        interpolated between two samples.
        """
        after = self.samples[-1]
        for before in reversed(self.samples):
            if before.stamp <= time:
                break
            after = before
        v = before.v
        if before.stamp <= time < after.stamp:
            v = v + (time - before.stamp) / (after.stamp - before.stamp) * (after.v - v)
        nearest = before if abs(time - before.stamp) <= abs(after.stamp - time) else after
        elapsed = min(max(time - nearest.stamp, -ALIGNED), ALIGNED)
        return self._carry(nearest.q, elapsed * 1e-9 * nearest.v) if elapsed else nearest.q, v
