"""Rates and ages of what comes in or goes out."""

from __future__ import annotations

import math
import time


class Meter:
    """Counts events, and tells how many a second there were and how long ago the last one was."""

    def __init__(self) -> None:
        self.count = 0
        self._last = -math.inf
        self._counted = 0
        self._since = time.monotonic()

    def tick(self, now: float) -> None:
        """Count one event at the time ``now`` of the steady clock [s]."""
        self.count += 1
        self._last = now

    def age(self) -> float:
        """Seconds since the last event; infinite before the first."""
        return time.monotonic() - self._last

    def take_rate(self) -> float:
        """Events a second since this was called before."""
        now = time.monotonic()
        rate = (self.count - self._counted) / max(now - self._since, 1e-9)
        self._counted, self._since = self.count, now
        return rate
