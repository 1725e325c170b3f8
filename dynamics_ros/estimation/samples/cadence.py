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


FIRST_INTERVAL = 1e-3
"""Time between samples that noise is reckoned with until it has been measured [s]."""

SAME_INTERVAL = 0.2
"""Relative change of it that makes no difference to noise."""


class MeasuredInterval:
    """Mean time between samples, measured once after each start of an observer.

    Attributes:
        seconds: that time.
        count: samples since the start; zero once it has been measured.
    """

    def __init__(self) -> None:
        """Before the first start."""
        self.seconds, self.count, self._begin = FIRST_INTERVAL, 0, 0

    def begin(self, stamp: int) -> None:
        """An observer starts with the sample of this stamp [ns]."""
        self._begin, self.count = stamp, 0

    def end(self, stamp: int) -> bool:
        """Measure until the next sample [ns]; whether it is another time than before."""
        interval = (stamp - self._begin) * 1e-9 / self.count
        self.count = 0
        other = interval > 0.0 and abs(interval / self.seconds - 1.0) > SAME_INTERVAL
        if other:
            self.seconds = interval
        return other


class Cadence:
    """Compares the time between two samples with that between those before.

    A publisher of another rate is known after ``WINDOW`` samples.
    """

    def __init__(self) -> None:
        """Know no sample."""
        self._stamps: deque[int] = deque(maxlen=HISTORY + WINDOW + 1)
        self._window: deque[int] = deque(maxlen=WINDOW + 1)

    def begin(self, stamp: int) -> None:
        """Know the first sample [ns] alone."""
        self.stamps = (stamp,)

    def uneven(self, stamp: int) -> bool:
        """Whether the interval before a newer sample [ns] is another than the usual one."""
        window = self._window
        last = window[-1]
        interval, span = (len(window) - 1) * (stamp - last), last - window[0]
        if span <= SHORTER * interval <= SHORTER * LONGER * span:
            return False
        return self.even(np.array([stamp])) == 0

    def take(self, stamp: int) -> None:
        """Know one more sample [ns]."""
        self._stamps.append(stamp)
        self._window.append(stamp)

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
        for known in self._stamps, self._window:
            known.clear()
            known.extend(stamps)
