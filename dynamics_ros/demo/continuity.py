# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Intervals of outputs without a gap, in which an estimate can be judged.

On an overloaded machine, joint states are lost or processed late. An observer that missed some
needs time to settle again, and its estimates in the meantime are neither right nor wrong.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

MAX_GAP = 20_000_000
"""Largest interval between two outputs that is no gap [ns]; a tenth of that is usual."""

SETTLING = 300_000_000
"""Time without a gap after which an estimate counts [ns]: twenty observer time constants."""


class Continuity:
    """Intervals of a topic without a gap.

    Args:
        stamps: stamps of its messages [ns], in any order.
    """

    def __init__(self, stamps: Sequence[int]) -> None:
        self._stamps = sorted(stamps)
        # Begins of intervals without a gap: the first stamp, and each stamp after a gap.
        after_gaps = [b for a, b in pairwise(self._stamps) if b - a > MAX_GAP]
        self._begins = self._stamps[:1] + after_gaps

    def settled(self, stamp: int) -> bool:
        """Whether there was no gap for ``SETTLING`` before a stamp, and none at it [ns]."""
        number = bisect_right(self._begins, stamp)
        if not number:
            return False
        after = bisect_left(self._stamps, stamp)
        if not 0 < after < len(self._stamps):
            return False
        in_gap = self._stamps[after] - self._stamps[after - 1] > MAX_GAP
        return not in_gap and stamp - self._begins[number - 1] >= SETTLING
