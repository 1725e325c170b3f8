# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pose and twist of a moving base at the moment of a joint state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from .history import DEPTH, LONG_AGO, NEVER, Array

ALIGNED = 100_000_000
"""ns that a pose is carried on by its twist at most: five periods of odometry at 50 Hz. In that
time a base that brakes with 2 m/s^2 gets 1 cm less far than its twist says."""


class BaseSample(NamedTuple):
    """Coordinates q of the root joint and its velocity v at a stamp [ns]."""

    stamp: int
    q: Array
    v: Array


class MovingBase:
    """The last samples of a base, and where it is at a time."""

    def __init__(self, carry: Callable[[Array, Array], Array]) -> None:
        """Begin without any sample.

        Args:
            carry: coordinates from others along a velocity times a time.
        """
        self._carry = carry
        self._samples: deque[BaseSample] = deque(maxlen=DEPTH)

    @property
    def stamp(self) -> int:
        """That of the newest sample [ns]; ``NEVER`` without one."""
        return self._samples[-1].stamp if self._samples else NEVER

    def add(self, sample: BaseSample) -> bool:
        """Take a sample in; false for one that is older than the newest."""
        if sample.stamp < self.stamp:
            return False
        if sample.stamp == self.stamp:
            self._samples.pop()
        self._samples.append(sample)
        return True

    def set_back(self) -> None:
        """Have what is known be of long ago: the clock was set back."""
        if self._samples:
            newest = self._samples[-1]
            self._samples.clear()
            self._samples.append(newest._replace(stamp=LONG_AGO))

    def adopt(self, other: MovingBase) -> None:
        """Take over the samples of another."""
        self._samples = other._samples.copy()

    def newest(self) -> BaseSample | None:
        """The newest sample."""
        return self._samples[-1] if self._samples else None

    def at(self, time: int) -> tuple[Array, Array]:
        """q and v at a time [ns]: from the nearest sample by its twist, for ``ALIGNED`` at most."""
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
