# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether samples are missing before one, or stamps tell when it arrived, not when it was taken."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Stamps = NDArray[np.int64]

WINDOW = 16
"""Intervals whose mean is the usual one."""

LONGER = 3
"""Times the usual interval, beyond which samples are missing."""

SHORTER = 10
"""Parts of the usual interval, below which samples that have waited arrive one after another."""

HISTORY, MOST = 64, 48
"""Of so many intervals before, more that are unusual mean that this publisher always sends so, as
one that stamps what it gets in packets when it gets them. Nothing is passed over then: an estimate
that errs somewhat is better than one that stands still."""


class Cadence:
    """Compares the time between two samples with that between those before.

    A publisher of another rate is known after ``WINDOW`` samples.
    """

    def __init__(self) -> None:
        """Know no sample."""
        self._stamps: deque[int] = deque(maxlen=HISTORY + WINDOW + 1)

    def begin(self, stamp: int) -> None:
        """Know the first sample [ns] alone."""
        self._stamps.clear()
        self._stamps.append(stamp)

    def uneven(self, stamp: int) -> bool:
        """Whether the interval before a newer sample [ns] is another than the usual one."""
        before = self._stamps
        last, count = before[-1], min(len(before) - 1, WINDOW)
        interval, span = count * (stamp - last), last - before[-1 - count]
        if count == 0 or span <= SHORTER * interval <= SHORTER * LONGER * span:
            return False
        return self.even(np.array([stamp])) == 0

    def take(self, stamp: int) -> None:
        """Know one more sample [ns]."""
        self._stamps.append(stamp)

    def even(self, stamps: Stamps) -> int:
        """How many of consecutive samples (n) [ns] come before the first that is ``uneven``."""
        known = len(self._stamps)
        every = np.concatenate([np.array(self._stamps, dtype=np.int64), stamps])
        last = np.arange(len(every) - 1)
        first = np.maximum(last - WINDOW, 0)
        count = last - first
        interval, span = count * np.diff(every), every[last] - every[first]
        unusual = (count > 0) & ((SHORTER * interval < span) | (interval > LONGER * span))
        before = np.concatenate([[0], np.cumsum(unusual)])
        always = before[last] - before[np.maximum(last - HISTORY, 0)] > MOST
        uneven = (unusual & ~always)[known - 1 :]
        return int(uneven.argmax()) if uneven.any() else len(stamps)

    @property
    def stamps(self) -> tuple[int, ...]:
        """Of the last samples [ns]; what is assigned is gone on from."""
        return tuple(self._stamps)

    @stamps.setter
    def stamps(self, stamps: tuple[int, ...]) -> None:
        self._stamps.clear()
        self._stamps.extend(stamps)
