# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work allowance that decides whether all waiting joint states are processed or only the newest.

All are processed if that takes no longer than ``MOMENT`` or the remaining allowance. Processing a
backlog consumes the allowance, and time without a backlog restores it. After a pause of the machine
all states are therefore processed, and a node that is too slow soon processes only the newest.
"""

from __future__ import annotations

MOMENT = 0.01
"""Processing time that is always granted to a backlog, and interval of the checks for one [s]."""

CATCH_UP = 0.2
"""Maximum allowance of processing time: enough for the states of half a second at 1 kHz [s]."""

STEP = 1.1
"""Factor by which the estimated processing time follows the last one, up or down. It bounds the
effect of a pause of the machine during one state."""

QUICK = 1e-5
"""Lower bound of the processing time of a state [s]."""


class Backlog:
    """Work allowance and estimated processing time per state.

    Attributes:
        whole: maximum allowance [s of processing time].
    """

    def __init__(self) -> None:
        """Creates an empty allowance."""
        self.whole = CATCH_UP
        self._left = 0.0
        self._usual = QUICK
        self._looked = 0.0

    def is_due(self, now: float) -> bool:
        """Whether to check for a backlog at the time ``now`` of the steady clock [s]."""
        return now - self._looked > MOMENT

    def answered(self, seconds: float) -> None:
        """Updates the estimated processing time with that of one state [s]."""
        usual = self._usual * STEP if seconds > self._usual else self._usual / STEP
        self._usual = max(usual, QUICK)

    def found_nothing(self, now: float) -> None:
        """Restores the allowance by the time since the last check, since there was no backlog."""
        self._left = min(self._left + now - self._looked, self.whole)
        self._looked = now

    def until(self, count: int, now: float) -> float:
        """Returns the deadline [s] for processing ``count`` waiting states; ``now`` for none."""
        allowed = max(self._left, MOMENT)
        # Processing starts only if it is expected to finish, and stops at the deadline.
        return now + allowed if count * self._usual <= allowed else now

    def worked_off(self, begun: float, now: float) -> None:
        """Reduces the allowance by the time since ``begun``, spent on all states but the newest."""
        self._left = max(self._left - (now - begun), 0.0)
        self._looked = now
