# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a stamp in the past is a late message, or the clock has been set back.

A message that was overtaken is a few periods old, and one that got stuck on the way comes alone.
When a bag is played anew or a simulator is reset, all that follows is old.
"""

from __future__ import annotations

import numpy as np

from .history import Indices

JUMP = 0.5
"""Seconds that a stamp has to be back for the clock to have jumped: no network keeps a message of
sensor data back for so long, and no bag is shorter."""

REPEATED = 3
"""Messages in a row about the same joints that have to say so."""

JUMP_NS = round(JUMP * 1e9)


class ClockJumps:
    """Counts old messages in a row, and jumps of the clock.

    Attributes:
        count: jumps so far.
        last: of the last one, stamps before and after [ns].
    """

    def __init__(self, size: int) -> None:
        """Begin; ``size`` is that of the history."""
        self.count = 0
        self.last = (0, 0)
        self._in_a_row = np.zeros(size, dtype=np.int64)

    def heard(self, which: Indices) -> None:
        """Take note of quantities that came in time."""
        self._in_a_row[which] = 0

    def jumped(self, which: Indices, before: int, stamp: int) -> bool:
        """Whether the clock has been set back, after a message that brought nothing new.

        Args:
            which: the quantities in it.
            before: the newest stamp so far [ns].
            stamp: its stamp [ns].
        """
        if before - stamp <= JUMP_NS:
            return False
        self._in_a_row[which] += 1
        if self._in_a_row[which].min() < REPEATED:
            return False
        self._in_a_row[:] = 0
        self.count += 1
        self.last = before, stamp
        return True

    def __str__(self) -> str:
        """The last jump and how many there were."""
        before, after = self.last
        times = f'; {self.count} times so far' if self.count > 1 else ''
        return (
            f'set back by {(before - after) * 1e-9:.3f} s, from {before * 1e-9:.3f} s to '
            f'{after * 1e-9:.3f} s{times}'
        )
