# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Timing of joint states: usual cycle, step intervals and late states."""

from __future__ import annotations

import time

LOST = 2
"""Number of missing joint states after which the arm brakes without them."""

NOMINAL_CYCLE, MAX_CYCLE = 0.002, 0.02
"""Cycle time assumed before it is measured, and the longest plausible one [s]."""

IN_A_ROW = 5
"""Number of intervals in a row of which the shortest counts as usual: a single long one is a lost
message."""

MAX_WAIT = 0.1
"""Longest wait for a joint state that counts as usual [s]."""

BURST = 2.0
"""Cycles that step times may be ahead of the machine's clock, since states arrive unevenly."""

LEAST = 1e-6
"""Shortest interval of a step [s]."""

SHARE = 0.02
"""Weight of a new measurement in the running average of the cycle."""


class Pace:
    """Tracks the times of states by stamp, and of answers by the machine's clock.

    The motors follow the machine's clock: when a process was held up, it processes the queued
    states at once, and the sum of their intervals must not exceed the time that passed. With
    simulated time the motors follow the stamps.

    Attributes:
        cycle: usual time between two stamps [s].
        answered: when the last state was processed, by the monotonic clock [s].
        sent: when the last command was sent, by the monotonic clock [s].
        gap: time between the last two stamps, without limits [s].
    """

    def __init__(self) -> None:
        self.cycle = NOMINAL_CYCLE
        self.start(0)

    def start(self, stamp: int, simulated: bool = False) -> None:
        """Start at a stamp [ns]; `simulated`: whether the time is simulated."""
        self._simulated = simulated
        self._stamp, self.gap = stamp - round(self.cycle * 1e9), 0.0
        self.answered = self.sent = time.monotonic() - self.cycle
        self._heard, self._wait, self._gaps = 0, self.cycle, [0.0] * IN_A_ROW
        self._counted, self._ahead = self.answered, 0.0

    def interval(self, stamp: int) -> float:
        """Step interval [s] at a state with this stamp [ns]."""
        now = time.monotonic()
        self.gap, self._stamp = (stamp - self._stamp) * 1e-9, stamp
        self._gaps = [*self._gaps[1:], self.gap]
        # Uses the machine's clock, since simulated time may run slower.
        self._heard += 1
        wait = min(now - self.answered, MAX_WAIT)
        self._wait += max(SHARE, 1.0 / self._heard) * (wait - self._wait)
        if 0.0 < self.gap < MAX_CYCLE:
            self.cycle += SHARE * (self.gap - self.cycle)
            return self.passed(self.gap)
        return self.passed(min(max(now - self.sent, self.cycle), MAX_CYCLE))

    def passed(self, interval: float) -> float:
        """Limit a step interval [s] to the time that passed by the machine's clock."""
        if self._simulated:
            return interval
        now = time.monotonic()
        ahead, self._counted = self._ahead - (now - self._counted), now
        interval = max(min(interval, BURST * self.cycle - ahead), LEAST)
        self._ahead = max(ahead + interval, 0.0)
        return interval

    @property
    def settled(self) -> bool:
        """Whether the cycle was measured long enough to follow it."""
        return self._heard * SHARE > 2.0

    @property
    def shortest(self) -> float:
        """Shortest of the last ``IN_A_ROW`` intervals between stamps [s]."""
        return min(self._gaps)

    @property
    def missing(self) -> float:
        """Time since a state was last processed [s]."""
        return time.monotonic() - self.answered

    @property
    def late(self) -> bool:
        """Whether more than ``LOST`` states are missing."""
        return self.missing > LOST * self._wait
