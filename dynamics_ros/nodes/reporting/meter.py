# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rates and ages of what comes in or goes out."""

from __future__ import annotations

import math
import time

from .clocks import NodeTime, age


class Meter:
    """Counts events, and tells how many a second there were and how long ago the last one was."""

    def __init__(self, clock: NodeTime) -> None:
        """Begin to count.

        Args:
            clock: of the node.
        """
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
        """Seconds since the last event; infinite before the first."""
        return time.monotonic() - self._last

    def simulated_age(self) -> float:
        """The same by the node's clock, where that is simulated; infinite once it was reset."""
        if not self._clock.simulated:
            return self.age()
        return math.inf if self._stamp is None else age(self._clock.now(), self._stamp)

    def take_rate(self) -> float:
        """Events a second since this was called before."""
        now = time.monotonic()
        rate = (self.count - self._counted) / max(now - self._since, 1e-9)
        self._counted, self._since = self.count, now
        return rate
