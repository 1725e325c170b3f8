# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate and age of messages."""

from __future__ import annotations

import math
import time

from .clocks import NodeTime, age


class Meter:
    """Counts events, and measures their rate and the age of the last one.

    Attributes:
        count: number of events.
    """

    def __init__(self, clock: NodeTime) -> None:
        """Start to count, with the clock of the node."""
        self.count = 0
        self._clock = clock
        self._last = -math.inf
        self._stamp: int | None = None
        self._counted = 0
        self._since = time.monotonic()

    def tick(self, now: float) -> None:
        """Count one event at the time ``now`` of the steady clock [s]."""
        self.count += 1
        self._last = now
        if self._clock.simulated:
            self._stamp = self._clock.now()

    def age(self) -> float:
        """Return the time since the last event [s]; infinite before the first."""
        return time.monotonic() - self._last

    def simulated_age(self) -> float:
        """Return the age in simulated time, if the clock is simulated; infinite after a reset."""
        if not self._clock.simulated:
            return self.age()
        return math.inf if self._stamp is None else age(self._clock.now(), self._stamp)

    def take_rate(self) -> float:
        """Return the rate of events since the previous call [Hz]."""
        now = time.monotonic()
        rate = (self.count - self._counted) / max(now - self._since, 1e-9)
        self._counted, self._since = self.count, now
        return rate
