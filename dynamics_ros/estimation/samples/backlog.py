# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether joint states that wait are all answered, or only the newest of them.

All are answered if that takes no longer than ``MOMENT``, or than what is left of an allowance. Work
on what waits uses the allowance up, and time in which nothing waits restores it: after a pause of
the machine all is answered, and a node that is too slow soon answers only the newest.
"""

from __future__ import annotations

MOMENT = 0.01
"""Seconds of work for which what waits is always answered; and how often it is looked for."""

CATCH_UP = 0.2
"""Seconds of work, the whole allowance: enough for what half a second at 1 kHz leaves behind."""

STEP = 1.1
"""What an answer usually takes follows the last one by this factor, up or down, so that it is not
misled by one in the middle of which the machine pauses."""

QUICK = 1e-5
"""Seconds: no answer is quicker."""


class Backlog:
    """The allowance, and what an answer usually takes.

    Attributes:
        whole: the whole allowance [s of work].
    """

    def __init__(self) -> None:
        """Begin without any allowance."""
        self.whole = CATCH_UP
        self._left = 0.0
        self._usual = QUICK
        self._looked = 0.0

    def is_due(self, now: float) -> bool:
        """Whether to look what waits at the time ``now`` of the steady clock [s]."""
        return now - self._looked > MOMENT

    def answered(self, seconds: float) -> None:
        """Take note of what one answer took."""
        usual = self._usual * STEP if seconds > self._usual else self._usual / STEP
        self._usual = max(usual, QUICK)

    def found_nothing(self, now: float) -> None:
        """Take note that nothing waits, nor has waited."""
        self._left = min(self._left + now - self._looked, self.whole)
        self._looked = now

    def until(self, count: int, now: float) -> float:
        """Until when so many that wait may be answered one by one: ``now`` for not at all."""
        allowed = max(self._left, MOMENT)
        # Not begun if it would not end; and ended if it turns out to take longer than usual.
        return now + allowed if count * self._usual <= allowed else now

    def worked_off(self, begun: float, now: float) -> None:
        """Take note that what waited has been dealt with since ``begun``, but for the newest."""
        self._left = max(self._left - (now - begun), 0.0)
        self._looked = now
