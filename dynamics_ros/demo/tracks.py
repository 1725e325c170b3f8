"""What was received, by stamp, and how two topics that speak of the same instant compare."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Value = TypeVar('Value')
Other = TypeVar('Other')

_LENGTH = 20_000  # messages that are kept; 40 s at 500 Hz


class Track(Generic[Value]):
    """The latest messages of a topic by stamp [ns]; written by one thread, read by another."""

    def __init__(self) -> None:
        self._values: dict[int, Value] = {}
        self.count = 0
        self.latest: tuple[int, Value] | None = None

    def add(self, stamp: int, value: Value) -> None:
        """Keep a message and forget the oldest when there are many."""
        self._values[stamp] = value
        self.latest = (stamp, value)
        self.count += 1
        if len(self._values) > _LENGTH:
            del self._values[next(iter(self._values))]

    def items(self, first: int = 0, last: int | None = None) -> list[tuple[int, Value]]:
        """Stamp and message of all with first <= stamp <= last."""
        # list(dict) is one step for the interpreter, so the writer cannot come between.
        return [
            (stamp, value)
            for stamp, value in list(self._values.items())
            if stamp >= first and (last is None or stamp <= last)
        ]

    def matched(
        self, other: Track[Other], first: int = 0, last: int | None = None
    ) -> Iterator[tuple[int, Value, Other]]:
        """Stamp and both messages wherever both topics have one of exactly this stamp."""
        others = dict(other.items(first, last))
        for stamp, value in self.items(first, last):
            if stamp in others:
                yield stamp, value, others[stamp]


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
