# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of joints and base, of messages that may come late; which moment is answered."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from .clock_jumps import ClockJumps
from .history import NEVER, Array, History, Indices
from .moving_base import BaseSample, MovingBase
from .turns import Turns


class Timeline:
    """Samples of the quantities of joints, and of the base, in time.

    What is older than what is known of the same quantity is dropped. Moments that are answered
    never go back, unless the clock was set back.

    Attributes:
        history: of the quantities.
        base: where the base was.
        newest: the newest stamp of joints [ns].
        moment: of the last state that was to be answered [ns].
        due: whether the last message completed a state, of ``moment``.
        dropped: messages of which something was older than what is known.
        merged: messages that came after a newer state had been answered, and were taken.
        jumps: of the clock.
    """

    def __init__(self, size: int, base: MovingBase) -> None:
        """Begin without samples of so many quantities."""
        self.history, self.base = History(size), base
        self.newest = self.moment = NEVER
        self.due = False
        self.dropped = self.merged = 0
        # The base is one quantity more.
        self.jumps = ClockJumps(size + 1)
        self._base_index = np.array([size])
        self._turns = Turns()

    @property
    def spread(self) -> float:
        """By how much the stamps of publishers that take turns are apart [s]."""
        return self._turns.spread()

    def adopt(self, other: Timeline, *, same_quantities: bool) -> None:
        """Go on at the moment of another; samples are taken over from its history."""
        self.newest, self.moment = other.newest, other.moment
        self.dropped, self.merged = other.dropped, other.merged
        self.jumps.count, self.jumps.last = other.jumps.count, other.jumps.last
        if same_quantities:
            self._turns = other._turns

    def skip_to(self, stamp: int) -> None:
        """Take note of a message that told all that is known, no older than any before [ns]."""
        self.newest = self.moment = stamp
        self.due = True

    def add_all(self, which: Indices, values: Array, stamp: int) -> None:
        """Take in what a message told that ``skip_to`` was told of; arguments as of ``add``."""
        self.history.add(which, values, stamp)
        self.jumps.heard(which)

    def add(
        self, key: Hashable, told: frozenset[int], which: Indices, values: Array, stamp: int
    ) -> None:
        """Take a message in that tells some quantities.

        Args:
            key: tells publishers apart.
            told: all quantities that its publisher tells.
            which: (n) those that it has told this time.
            values: (n) of them.
            stamp: ns.
        """
        late = self.history.add(which, values, stamp)
        if late is not None and late.all() and self.jumps.jumped(which, self.newest, stamp):
            self.set_back()
            late = self.history.add(which, values, stamp)
        if late is not None:
            self.dropped += 1
            if late.all():
                return
            which = which[~late]
        self.jumps.heard(which)
        if stamp < self.moment:
            self.merged += 1
        self.newest = max(self.newest, stamp)
        self._go_on(*self._turns.hear(key, told, stamp))

    def add_base(self, sample: BaseSample, *, alone: bool) -> bool:
        """Take a sample of the base in; false for one that came too late.

        Args:
            sample: of the base.
            alone: whether that is all there is to know, so that it is to be answered.
        """
        if not self.base.add(sample):
            if not self.jumps.jumped(self._base_index, self.base.stamp, sample.stamp):
                self.dropped += 1
                return False
            if alone:
                self.set_back()
            else:  # of joints and base, each may have a clock of its own
                self.base.set_back()
            self.base.add(sample)
        self.jumps.heard(self._base_index)
        if alone:
            self.newest = sample.stamp
            self._go_on(sample.stamp)
        return True

    def set_back(self) -> None:
        """Begin anew in time: what was known is of long ago."""
        self.history.set_back()
        self.base.set_back()
        self._turns.clear()
        self.newest = self.moment = NEVER

    def _go_on(self, moment: int, least: int = 0) -> None:
        """Have a moment be answered unless that is less of a step than ``least`` [ns], or back."""
        self.due = moment - self.moment >= least
        if self.due:
            self.moment = moment
