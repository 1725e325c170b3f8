# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which outputs were computed in time: a wrong number counts only where nothing was missed.

On a machine that is too slow, joint states are lost or answered together. An observer that missed
some needs a while before its estimate means something again, so that what it says meanwhile is
neither right nor wrong.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

MOST_GAP = 20_000_000
"""ns between two outputs; a tenth of that is usual."""

SETTLING = 300_000_000
"""ns without a gap until an estimate counts: twenty time constants of the observer."""


class Continuity:
    """Times of unbroken output.

    Args:
        stamps: of one topic, in any order [ns].
    """

    def __init__(self, stamps: Sequence[int]) -> None:
        self._stamps = sorted(stamps)
        # Where a stretch without gaps begins: at the first stamp, and after each gap.
        after_gaps = [b for a, b in pairwise(self._stamps) if b - a > MOST_GAP]
        self._begins = self._stamps[:1] + after_gaps

    def settled(self, stamp: int) -> bool:
        """Whether outputs came without a gap for ``SETTLING`` until this stamp."""
        number = bisect_right(self._begins, stamp)
        if not number:
            return False
        after = bisect_left(self._stamps, stamp)
        current = after < len(self._stamps) and self._stamps[after] - stamp <= MOST_GAP
        return current and stamp - self._begins[number - 1] >= SETTLING
