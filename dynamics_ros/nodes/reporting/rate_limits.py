# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate limits: evenly spaced events, or a maximum number of events within a time."""

from __future__ import annotations

from collections import deque


class RateLimit:
    """Limits events to a maximum rate, evenly spaced.

    Attributes:
        next: time from which the next event may pass [s].
    """

    def __init__(self) -> None:
        self.next = 0.0

    def passes(self, now: float, rate: float) -> bool:
        """Return whether an event at time ``now`` [s] passes at a rate [Hz]; 0: no limit."""
        if rate <= 0.0:
            return True
        if now < self.next:
            return False
        period = 1.0 / rate
        late = now - self.next
        # Counted from the time it was due, which keeps the mean rate, except after a pause.
        self.next += period if late < period else late + period
        return True


class Burst:
    """Limits events to a maximum number within a sliding time window [s]."""

    def __init__(self, max_count: int, seconds: float) -> None:
        self._passed: deque[float] = deque(maxlen=max_count)
        self._seconds = seconds

    def passes(self, now: float) -> bool:
        """Return whether an event at time ``now`` [s] passes."""
        full = len(self._passed) == self._passed.maxlen
        if full and now - self._passed[0] < self._seconds:
            return False
        self._passed.append(now)
        return True
