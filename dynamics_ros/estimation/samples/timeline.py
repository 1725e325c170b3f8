# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples of joints and base over time, with late messages, and the times of the output states."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from .clock_jumps import ClockJumps
from .history import NEVER, Array, History, Indices
from .moving_base import BaseSample, MovingBase
from .turns import PublisherSynchronizer


class Timeline:
    """Stores samples of joint quantities and of the base, and decides when a state is complete.

    Values older than the newest one of the same quantity are dropped. The times of output states
    never decrease, unless the clock was set back.

    Attributes:
        history: samples of the joint quantities.
        base: samples of the base.
        newest: newest stamp of a joint state [ns].
        moment: time of the last output state [ns].
        due: whether the last message completed a state, at ``moment``.
        dropped: number of messages with a dropped value.
        merged: number of messages older than the last output state that were still merged.
        jumps: backward jumps of the clock.
    """

    def __init__(self, history: History, base: MovingBase) -> None:
        """Creates a timeline of quantities and a base without samples."""
        self.history, self.base = history, base
        self.newest = self.moment = NEVER
        self.due = False
        self.dropped = self.merged = 0
        # One additional quantity: the base.
        self.jumps = ClockJumps(history.size + 1)
        self._base_index = np.array([history.size])
        self._synchronizer = PublisherSynchronizer()

    @property
    def spread(self) -> float:
        """Difference between the stamps of alternating publishers [s]."""
        return self._synchronizer.spread()

    def adopt(self, other: Timeline, *, same_quantities: bool) -> None:
        """Takes over times and counters of another timeline; its samples are copied separately."""
        self.newest, self.moment = other.newest, other.moment
        self.dropped, self.merged = other.dropped, other.merged
        self.jumps.count, self.jumps.last = other.jumps.count, other.jumps.last
        if same_quantities:
            self._synchronizer = other._synchronizer

    def skip_to(self, stamp: int) -> None:
        """Records the stamp [ns] of a complete message that is not older than any other."""
        self.newest = self.moment = stamp
        self.due = True

    def add_all(self, which: Indices, values: Array, stamp: int) -> None:
        """Adds the values of a message announced by ``skip_to``; arguments as of ``add``."""
        self.history.add(which, values, stamp)
        self.jumps.received(which)

    def add(
        self, key: Hashable, reported: frozenset[int], which: Indices, values: Array, stamp: int
    ) -> None:
        """Adds a message with some quantities.

        Args:
            key: identifies the publisher.
            reported: all quantities that the publisher reports.
            which: (n) quantities in this message.
            values: (n) their values.
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
        self.jumps.received(which)
        if stamp < self.moment:
            self.merged += 1
        self.newest = max(self.newest, stamp)
        self._advance(*self._synchronizer.record(key, reported, stamp))

    def add_base(self, sample: BaseSample, *, alone: bool) -> bool:
        """Adds a sample of the base; returns False if it is too old.

        Args:
            sample: the sample.
            alone: whether the robot has no joints, so that the sample completes a state.
        """
        if not self.base.add(sample):
            if not self.jumps.jumped(self._base_index, self.base.stamp, sample.stamp):
                self.dropped += 1
                return False
            if alone:
                self.set_back()
            else:  # joints and base may be stamped by different clocks
                self.base.set_back()
            self.base.add(sample)
        self.jumps.received(self._base_index)
        if alone:
            self.newest = sample.stamp
            self._advance(sample.stamp)
        return True

    def set_back(self) -> None:
        """Marks all samples as old after the clock was set back."""
        self.history.set_back()
        self.base.set_back()
        self._synchronizer.clear()
        self.newest = self.moment = NEVER

    def _advance(self, moment: int, least: int = 0) -> None:
        """Advances the output time to ``moment`` if that is a step of at least ``least`` [ns]."""
        self.due = moment - self.moment >= least
        if self.due:
            self.moment = moment
