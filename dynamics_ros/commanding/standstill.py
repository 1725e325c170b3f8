# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether a process stood still: what was sent to it meanwhile looks new when it is read."""

from __future__ import annotations

import time

HELD_UP = 0.05
"""Seconds without a look after which the process was held up: looks come every few milliseconds."""

SETTLING = 0.1
"""Seconds from there on in which messages that waited are still being read."""


class Standstill:
    """Told again and again that the process is alive, it knows when that was not so."""

    def __init__(self) -> None:
        self._looked = time.monotonic()
        self._since = self._until = 0.0

    def look(self) -> None:
        """Take note that the process is alive."""
        now = time.monotonic()
        if now - self._looked > HELD_UP:
            if self._looked > self._until:
                self._since = self._looked
            self._until = now + SETTLING
        self._looked = now

    def waited(self) -> float:
        """Seconds that a message which is read now may have waited; 0.0 where it cannot have."""
        self.look()
        return self._looked - self._since if self._looked < self._until else 0.0
