# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distinction between late messages and clocks that were set back.

A late message is a few periods old and arrives alone. After a bag restarts or a simulator is reset,
all following messages are old.
"""

from __future__ import annotations

import numpy as np

from .history import Indices

JUMP = 0.5
"""Minimum backward jump of a clock [s]: no network delays sensor messages by as much, and no bag is
shorter."""

MIN_OLD_MESSAGES = 3
"""Number of consecutive old messages about the same joints that indicate a jump."""

JUMP_NS = round(JUMP * 1e9)


class ClockJumps:
    """Detects and counts backward jumps of the clock from consecutive old messages.

    Attributes:
        count: number of jumps.
        last: stamps before and after the last jump [ns].
    """

    def __init__(self, size: int) -> None:
        """Creates a detector for ``size`` quantities, as in the history."""
        self.count = 0
        self.last = (0, 0)
        self._in_a_row = np.zeros(size, dtype=np.int64)
        self._any_old = False

    def received(self, which: Indices) -> None:
        """Resets the counters of quantities with a current message."""
        if self._any_old:
            self._in_a_row[which] = 0
            self._any_old = bool(self._in_a_row.any())

    def jumped(self, which: Indices, before: int, stamp: int) -> bool:
        """Whether the clock was set back, to be called for a message with old values only.

        Args:
            which: quantities in the message.
            before: newest stamp so far [ns].
            stamp: stamp of the message [ns].
        """
        if before - stamp <= JUMP_NS:
            return False
        self._in_a_row[which] += 1
        self._any_old = True
        if self._in_a_row[which].min() < MIN_OLD_MESSAGES:
            return False
        self._in_a_row[:] = 0
        self.count += 1
        self.last = before, stamp
        return True

    def __str__(self) -> str:
        """Describes the last jump and the number of jumps."""
        before, after = self.last
        times = f'; {self.count} times so far' if self.count > 1 else ''
        return (
            f'set back by {(before - after) * 1e-9:.3f} s, from {before * 1e-9:.3f} s to '
            f'{after * 1e-9:.3f} s{times}'
        )
