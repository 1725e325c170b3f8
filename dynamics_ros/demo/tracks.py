# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Received messages by stamp, and comparison of messages of two topics with the same stamp."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Value = TypeVar('Value')
Other = TypeVar('Other')

LENGTH = 10_000
"""Number of stored messages per topic: 20 s at 500 Hz, more than a round."""


class Track(Generic[Value]):
    """The latest messages of a topic by stamp [ns], written by one thread and read by another.

    The writer may drop the oldest message during reading: methods that return several values work
    on a copy, and ``get`` of an earlier stamp may return None.

    Args:
        read: converts a received message to its value. It is called when a value is requested,
            because most of the thousands of messages per second are only counted.
        length: number of stored messages; None: ``LENGTH``.

    Attributes:
        count: number of received messages.
        newest: stamp of the latest message; 0 before the first one.
    """

    def __init__(
        self, read: Callable[[Any], Value] = lambda message: message, length: int | None = None
    ) -> None:
        self._read = read
        self._length = LENGTH if length is None else length
        self._messages: dict[int, Any] = {}
        self._lock = threading.Lock()
        self.count = 0
        self.newest = 0

    @property
    def latest(self) -> Value | None:
        """Value of the latest message; None before the first one."""
        return self.get(self.newest)

    def add(self, stamp: int, message: Any) -> None:
        """Store a message, and drop the oldest one if there are too many."""
        with self._lock:
            self._messages[stamp] = message
            if len(self._messages) > self._length:
                del self._messages[next(iter(self._messages))]
            self.newest = stamp
            self.count += 1

    def get(self, stamp: int) -> Value | None:
        """Value of a stamp; None if it is not stored, or not any more."""
        message = self._messages.get(stamp)
        return None if message is None else self._read(message)

    def stamps(self, first: int = 0, last: int | None = None) -> list[int]:
        """Stored stamps with first <= stamp <= last [ns]."""
        return list(self._kept(first, last))

    def items(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, Value]]:
        """Stamps and values of the stored messages with first <= stamp <= last [ns]."""
        kept = self._kept(first, last)
        return ((stamp, self._read(message)) for stamp, message in kept.items())

    def matched(
        self,
        other: Track[Other],
        first: int = 0,
        last: int | None = None,
        most: int | None = None,
    ) -> Iterator[tuple[int, Value, Other]]:
        """Stamp and both values of all stamps that both topics have.

        Args:
            other: the other topic.
            first, last: range of stamps [ns].
            most: largest number of results, evenly spread; None: all.
        """
        ours, theirs = self._kept(first, last), other._kept(first, last)
        stamps = [stamp for stamp in ours if stamp in theirs]
        if most is not None:
            stamps = thinned(stamps, most)
        return ((t, self._read(ours[t]), other._read(theirs[t])) for t in stamps)

    def _kept(self, first: int, last: int | None) -> dict[int, Any]:
        """A copy of the messages with first <= stamp <= last."""
        with self._lock:
            kept = self._messages.copy()
        if first <= 0 and last is None:
            return kept
        return {
            stamp: message
            for stamp, message in kept.items()
            if stamp >= first and (last is None or stamp <= last)
        }


def pose_error(A: Array, B: Array) -> tuple[float, float]:
    """Distance [m] and angle [rad] between two poses (4, 4).

    The angle follows from |A - B| = 2 sqrt(2) sin(angle / 2); the arc cosine of the trace would
    resolve it to 1e-8 only.
    """
    chord = float(np.linalg.norm(A[:3, :3] - B[:3, :3])) / (2.0 * math.sqrt(2.0))
    return float(np.linalg.norm(A[:3, 3] - B[:3, 3])), 2.0 * math.asin(min(chord, 1.0))


def thinned(items: list[Value], most: int) -> list[Value]:
    """At most ``most`` of the items, evenly spread."""
    return items[:: max(1, math.ceil(len(items) / most))]
