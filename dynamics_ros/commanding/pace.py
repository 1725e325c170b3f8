# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How evenly joint states come, and whether they are late."""

from __future__ import annotations

import time

LOST = 2
"""Joint states that may be missing before the arm brakes without them."""

NOMINAL_CYCLE, LONGEST_CYCLE = 0.002, 0.02
"""Seconds between two joint states: before that is measured; the longest that is believed."""

RAREST, IN_A_ROW = 0.025, 5
"""Seconds between joint states of which springs are stable no more, and how many times that makes
it usual: a single one is a loss."""

LONGEST_WAIT = 0.1
"""Seconds from one joint state to the next that still count as usual."""

BURST = 2.0
"""Usual cycles that answers may be ahead of the machine's own time: states come unevenly."""

LEAST = 1e-6
"""s: shortest interval of a step."""

SHARE = 0.02
"""By which a measured cycle changes what is taken for usual."""


class Pace:
    """Times of states by their stamps, and of answers by the machine's own time.

    Attributes:
        cycle: between two stamps, as is usual [s].
        answered: when the last state was answered; sent: when a command was, by the steady clock.
        gap: between the last two stamps, whatever that is [s].
        rare: whether joint states come too rarely for springs.

    Motors are where the machine's own time is: when a process was held up, the states that waited
    are answered at once, and their intervals together are no longer than what time has passed.
    With simulated time, motors are where the stamps are.
    """

    def __init__(self) -> None:
        self.cycle = NOMINAL_CYCLE
        self.start(0)

    def start(self, stamp: int, simulated: bool = False) -> None:
        """Begin with the state of a stamp [ns]; `simulated`: whether time is."""
        self._simulated = simulated
        self._stamp, self.gap = stamp - round(self.cycle * 1e9), 0.0
        self.answered = self.sent = time.monotonic() - self.cycle
        self._heard, self._wait, self._far = 0, self.cycle, 0
        self._counted, self._ahead = self.answered, 0.0

    def interval(self, stamp: int) -> float:
        """Seconds since the last step at a state of a stamp [ns], by stamps that go on evenly."""
        now = time.monotonic()
        self.gap, self._stamp = (stamp - self._stamp) * 1e-9, stamp
        self._far = self._far + 1 if self.gap > RAREST else 0
        # By the machine's own time: that of a simulation may be slower.
        self._heard += 1
        wait = min(now - self.answered, LONGEST_WAIT)
        self._wait += max(SHARE, 1.0 / self._heard) * (wait - self._wait)
        if 0.0 < self.gap < LONGEST_CYCLE:
            self.cycle += SHARE * (self.gap - self.cycle)
            return self.passed(self.gap)
        return self.passed(min(max(now - self.sent, self.cycle), LONGEST_CYCLE))

    def passed(self, interval: float) -> float:
        """An interval [s] of a step, as far as that much of the machine's time has passed."""
        if self._simulated:
            return interval
        now = time.monotonic()
        ahead, self._counted = self._ahead - (now - self._counted), now
        interval = max(min(interval, BURST * self.cycle - ahead), LEAST)
        self._ahead = max(ahead + interval, 0.0)
        return interval

    @property
    def rare(self) -> bool:
        """As above."""
        return self._far >= IN_A_ROW

    @property
    def missing(self) -> float:
        """Seconds since a state was answered."""
        return time.monotonic() - self.answered

    @property
    def late(self) -> bool:
        """Whether more states are missing than may be."""
        return self.missing > LOST * self._wait
