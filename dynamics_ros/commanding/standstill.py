# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of a stalled process, whose queued messages look new when it reads them."""

from __future__ import annotations

import time

HELD_UP = 0.05
"""Interval between two calls from which the process counts as stalled [s]; usual is a few ms."""

SETTLING = 0.1
"""Time after a stall in which queued messages are still being read [s]."""


class Standstill:
    """Detects stalls of the process from the interval between calls of `look`."""

    def __init__(self) -> None:
        self._looked = time.monotonic()
        self._since = self._until = 0.0

    def look(self) -> None:
        """Record that the process is running."""
        now = time.monotonic()
        if now - self._looked > HELD_UP:
            if self._looked > self._until:
                self._since = self._looked
            self._until = now + SETTLING
        self._looked = now

    def waited(self) -> float:
        """Longest time that a message read now may have been queued [s]; 0.0 without a stall."""
        self.look()
        return self._looked - self._since if self._looked < self._until else 0.0
