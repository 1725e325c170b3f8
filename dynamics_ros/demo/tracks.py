# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was received, by stamp, and how two topics that speak of the same instant compare."""

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
"""Messages of a topic that are kept: 20 s at 500 Hz, more than a round."""


class Track(Generic[Value]):
    """The latest messages of a topic by stamp [ns]; written by one thread, read by another.

    The writer drops the oldest message while others read: whoever reads several works on a copy,
    and a stamp that was there a moment ago may be gone.

    Args:
        read: from a message as it was received to its value. It is called when the value is asked
            for: most messages are only counted, and there are thousands a second.
        length: messages that are kept; None: ``LENGTH``.

    Attributes:
        count: messages received.
        newest: stamp of the latest message, 0 before there is one.
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
        """The latest value."""
        return self.get(self.newest)

    def add(self, stamp: int, message: Any) -> None:
        """Keep a message and forget the oldest when there are many."""
        with self._lock:
            self._messages[stamp] = message
            if len(self._messages) > self._length:
                del self._messages[next(iter(self._messages))]
            self.newest = stamp
            self.count += 1

    def get(self, stamp: int) -> Value | None:
        """The value of a stamp; None when there is none, or none any more."""
        message = self._messages.get(stamp)
        return None if message is None else self._read(message)

    def stamps(self, first: int = 0, last: int | None = None) -> list[int]:
        """All stamps with first <= stamp <= last that are kept now."""
        return list(self._kept(first, last))

    def items(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, Value]]:
        """Stamp and value of all with first <= stamp <= last that are kept now."""
        kept = self._kept(first, last)
        return ((stamp, self._read(message)) for stamp, message in kept.items())

    def matched(
        self,
        other: Track[Other],
        first: int = 0,
        last: int | None = None,
        most: int | None = None,
    ) -> Iterator[tuple[int, Value, Other]]:
        """Stamp and both values wherever both topics have a message of exactly this stamp.

        Args:
            other: the other topic.
            first, last: stamps outside are left out [ns].
            most: how many at most, evenly spread; None: all.
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
    """Distance [m] and angle [rad] between two (4, 4) poses.

    The angle comes from |A - B| = 2 sqrt(2) sin(angle / 2), which the arc cosine of a trace would
    only resolve to 1e-8.
    """
    chord = float(np.linalg.norm(A[:3, :3] - B[:3, :3])) / (2.0 * math.sqrt(2.0))
    return float(np.linalg.norm(A[:3, 3] - B[:3, 3])), 2.0 * math.asin(min(chord, 1.0))


def thinned(items: list[Value], most: int) -> list[Value]:
    """At most so many items, evenly spread."""
    return items[:: max(1, math.ceil(len(items) / most))]
