# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of missing samples, and of stamps of arrival instead of measurement."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

Stamps = NDArray[np.int64]

WINDOW = 16
"""Number of intervals whose mean is the usual interval."""

MISSING_RATIO = 3
"""Ratio of an interval to the usual one above which samples are missing."""

BURST_RATIO = 10
"""Ratio of the usual interval to another one above which delayed samples arrive in a burst."""

HISTORY, MAX_UNUSUAL = 64, 48
"""If more than ``MAX_UNUSUAL`` of the last ``HISTORY`` intervals are unusual, the publisher always
sends in bursts, for example because it stamps packets on arrival. Samples are not skipped then: an
estimate with some error is better than none."""


class Cadence:
    """Compares the interval before a sample with the usual interval of the previous samples.

    A changed rate of the publisher is learned after ``WINDOW`` samples.
    """

    def __init__(self) -> None:
        """Creates it without samples."""
        self._stamps: deque[int] = deque(maxlen=HISTORY + WINDOW + 1)

    def begin(self, stamp: int) -> None:
        """Restarts with a first sample [ns]."""
        self.stamps = (stamp,)

    def uneven(self, stamp: int) -> bool:
        """Whether the interval before a newer sample [ns] is unusual."""
        stamps, last = self._stamps, self._stamps[-1]
        count = min(len(stamps) - 1, WINDOW)
        interval, span = count * (stamp - last), last - stamps[-1 - count]
        if span <= BURST_RATIO * interval <= BURST_RATIO * MISSING_RATIO * span:
            return False
        return self.even(np.array([stamp])) == 0

    def take(self, stamp: int) -> None:
        """Adds a sample [ns]."""
        self._stamps.append(stamp)

    @property
    def mean(self) -> float:
        """Mean of the last intervals [s]; 0 for a single sample."""
        stamps = self._stamps
        return (stamps[-1] - stamps[0]) * 1e-9 / max(len(stamps) - 1, 1)

    def even(self, stamps: Stamps) -> int:
        """Returns the number of samples before the first ``uneven`` one of stamps (n) [ns]."""
        known = len(self._stamps)
        all_stamps = np.concatenate([np.array(self._stamps, dtype=np.int64), stamps])
        last = np.arange(len(all_stamps) - 1)
        first = np.maximum(last - WINDOW, 0)
        count = last - first
        interval, span = count * np.diff(all_stamps), all_stamps[last] - all_stamps[first]
        unusual = (count > 0) & (
            (BURST_RATIO * interval < span) | (interval > MISSING_RATIO * span)
        )
        before = np.concatenate([[0], np.cumsum(unusual)])
        frequent = before[last] - before[np.maximum(last - HISTORY, 0)] > MAX_UNUSUAL
        uneven = (unusual & ~frequent)[known - 1 :]
        return int(uneven.argmax()) if uneven.any() else len(stamps)

    @property
    def stamps(self) -> tuple[int, ...]:
        """Stamps of the last samples [ns]; assigning them restores a state."""
        return tuple(self._stamps)

    @stamps.setter
    def stamps(self, stamps: tuple[int, ...]) -> None:
        self._stamps.clear()
        self._stamps.extend(stamps)
