# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Work allowance that decides how long waiting joint states are processed before the newest.

Processing a backlog consumes the allowance, and time without a backlog restores it. After a pause
of the machine all states are therefore processed, and a node that is too slow soon processes only
the newest.
"""

from __future__ import annotations

MIN_ALLOWANCE = 0.01
"""Processing time that is always granted to a backlog, and interval of the checks for one [s]."""

MAX_ALLOWANCE = 0.2
"""Maximum allowance of processing time: enough for the states of half a second at 1 kHz [s]."""


class Backlog:
    """Work allowance.

    Attributes:
        maximum: maximum allowance [s of processing time].
    """

    def __init__(self) -> None:
        """Creates an empty allowance."""
        self.maximum = MAX_ALLOWANCE
        self._allowance = 0.0
        self._checked = 0.0

    def is_due(self, now: float) -> bool:
        """Whether to check for a backlog at the time ``now`` of the steady clock [s]."""
        return now - self._checked > MIN_ALLOWANCE

    def restore(self, now: float) -> None:
        """Restores the allowance by the time since the last check, since there was no backlog."""
        self._allowance = min(self._allowance + now - self._checked, self.maximum)
        self._checked = now

    def deadline(self, now: float) -> float:
        """Returns the deadline [s] for processing waiting states."""
        return now + max(self._allowance, MIN_ALLOWANCE)

    def spend(self, started: float, now: float) -> None:
        """Reduces the allowance by the time since ``started``, spent on all but the newest."""
        self._allowance = max(self._allowance - (now - started), 0.0)
        self._checked = now
