# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of how often something is done: at most so many times a second, or within a time."""

from __future__ import annotations

from collections import deque


class RateLimit:
    """Lets through no more than so many a second, evenly; 0 is no limit.

    Attributes:
        next: when the next one may pass by its rate [s].
    """

    def __init__(self) -> None:
        self.next = 0.0

    def passes(self, now: float, rate: float) -> bool:
        """Whether the one that comes at the time ``now`` [s] may pass."""
        if rate <= 0.0:
            return True
        if now < self.next:
            return False
        period = 1.0 / rate
        late = now - self.next
        # From the time it was due, so that the mean rate is kept, unless the input had paused.
        self.next += period if late < period else late + period
        return True


class Burst:
    """Lets through no more than so many within a time, however they come."""

    def __init__(self, most: int, seconds: float) -> None:
        self._passed: deque[float] = deque(maxlen=most)
        self._seconds = seconds

    def passes(self, now: float) -> bool:
        """Whether the one that comes at the time ``now`` [s] may pass."""
        full = len(self._passed) == self._passed.maxlen
        if full and now - self._passed[0] < self._seconds:
            return False
        self._passed.append(now)
        return True
