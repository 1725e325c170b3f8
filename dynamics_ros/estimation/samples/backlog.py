# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work allowance that decides whether all waiting joint states are processed or only the newest.

All are processed if that takes no longer than ``MIN_ALLOWANCE`` or the remaining allowance.
Processing a backlog consumes the allowance, and time without a backlog restores it. After a pause
of the machine all states are therefore processed, and a node that is too slow soon processes only
the newest.
"""

from __future__ import annotations

MIN_ALLOWANCE = 0.01
"""Processing time that is always granted to a backlog, and interval of the checks for one [s]."""

MAX_ALLOWANCE = 0.2
"""Maximum allowance of processing time: enough for the states of half a second at 1 kHz [s]."""

STEP = 1.1
"""Factor by which the estimated processing time follows the last one, up or down. It bounds the
effect of a pause of the machine during one state."""

MIN_DURATION = 1e-5
"""Lower bound of the processing time of a state [s]."""


class Backlog:
    """Work allowance and estimated processing time per state.

    Attributes:
        maximum: maximum allowance [s of processing time].
    """

    def __init__(self) -> None:
        """Creates an empty allowance."""
        self.maximum = MAX_ALLOWANCE
        self._allowance = 0.0
        self._duration = MIN_DURATION
        self._checked = 0.0

    def is_due(self, now: float) -> bool:
        """Whether to check for a backlog at the time ``now`` of the steady clock [s]."""
        return now - self._checked > MIN_ALLOWANCE

    def record(self, seconds: float) -> None:
        """Updates the estimated processing time with that of one state [s]."""
        usual = self._duration * STEP if seconds > self._duration else self._duration / STEP
        self._duration = max(usual, MIN_DURATION)

    def restore(self, now: float) -> None:
        """Restores the allowance by the time since the last check, since there was no backlog."""
        self._allowance = min(self._allowance + now - self._checked, self.maximum)
        self._checked = now

    def deadline(self, count: int, now: float) -> float:
        """Returns the deadline [s] for processing ``count`` waiting states; ``now`` for none."""
        allowed = max(self._allowance, MIN_ALLOWANCE)
        # Processing starts only if it is expected to finish, and stops at the deadline.
        return now + allowed if count * self._duration <= allowed else now

    def spend(self, started: float, now: float) -> None:
        """Reduces the allowance by the time since ``started``, spent on all but the newest."""
        self._allowance = max(self._allowance - (now - started), 0.0)
        self._checked = now
