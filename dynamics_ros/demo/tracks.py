"""What was received, by stamp, and how two topics that speak of the same instant compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Value = TypeVar('Value')
Other = TypeVar('Other')

_LENGTH = 20_000  # messages that are kept; 40 s at 500 Hz


class Track(Generic[Value]):
    """The latest messages of a topic by stamp [ns]; written by one thread, read by another.

    Args:
        read: from a message as it was received to its value. It is called when the value is asked
            for: most messages are only counted, and there are thousands a second.

    Attributes:
        count: messages received.
        newest: stamp of the latest message, 0 before there is one.
    """

    def __init__(self, read: Callable[[Any], Value] = lambda message: message) -> None:
        self._read = read
        self._messages: dict[int, Any] = {}
        self.count = 0
        self.newest = 0

    @property
    def latest(self) -> Value | None:
        """The latest value."""
        return self._read(self._messages[self.newest]) if self.newest else None

    def add(self, stamp: int, message: Any) -> None:
        """Keep a message and forget the oldest when there are many."""
        self._messages[stamp] = message
        self.newest = stamp
        self.count += 1
        if len(self._messages) > _LENGTH:
            del self._messages[next(iter(self._messages))]

    def stamps(self, first: int = 0, last: int | None = None) -> list[int]:
        """All stamps with first <= stamp <= last."""
        # list(dict) is one step for the interpreter, so the writer cannot come between.
        kept = list(self._messages)
        return [stamp for stamp in kept if stamp >= first and (last is None or stamp <= last)]

    def items(self, first: int = 0, last: int | None = None) -> list[tuple[int, Value]]:
        """Stamp and value of all with first <= stamp <= last."""
        return [(stamp, self[stamp]) for stamp in self.stamps(first, last)]

    def __getitem__(self, stamp: int) -> Value:
        return self._read(self._messages[stamp])

    def __contains__(self, stamp: int) -> bool:
        return stamp in self._messages

    def matched(
        self, other: Track[Other], first: int = 0, last: int | None = None
    ) -> Iterator[tuple[int, Value, Other]]:
        """Stamp and both messages wherever both topics have one of exactly this stamp."""
        for stamp in self.stamps(first, last):
            if stamp in other:
                yield stamp, self[stamp], other[stamp]


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
