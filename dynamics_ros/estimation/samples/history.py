"""The last samples of many quantities that are not all told at once, and their values in between.

Each quantity (a position, velocity or effort of a joint) has stamps of its own. Values at a time
between two samples are interpolated, never extrapolated: a slope through two samples would raise
the noise of velocities several times.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Stamps = NDArray[np.int64]
Indices = NDArray[np.intp]

NEVER = -(2**62)
"""Stamp of what was not received, or is not a number; as far away as subtraction allows."""

LONG_AGO = NEVER + 1
"""Stamp of what was received before the clock was set back."""

DEPTH = 16
"""Samples kept of each quantity."""


class History:
    """The last ``DEPTH`` samples of each of many quantities.

    Attributes:
        stamps: (DEPTH, size) [ns], the newest first.
        values: (DEPTH, size).
    """

    def __init__(self, size: int) -> None:
        """Begin without any sample."""
        self.stamps = np.full((DEPTH, size), NEVER, dtype=np.int64)
        self.values = np.zeros((DEPTH, size))

    @property
    def newest(self) -> Stamps:
        """(size) stamp of the last sample of each quantity [ns]."""
        return self.stamps[0]

    def add(self, which: Indices, values: Array, stamp: int) -> NDArray[np.bool_] | None:
        """Take a sample of some quantities in.

        A repeated stamp replaces what was told before; one that is older is dropped.

        Args:
            which: (n) the quantities.
            values: (n) of them.
            stamp: ns.

        Returns:
            (n) which of them were dropped; None where none was.
        """
        newest = self.stamps[0, which]
        new = newest < stamp
        late, moved = None, which
        if not new.all():
            late, moved = newest > stamp, which[new]
            values, which = values[~late], which[~late]
        self.stamps[1:, moved] = self.stamps[:-1, moved]
        self.values[1:, moved] = self.values[:-1, moved]
        self.stamps[0, which] = stamp
        self.values[0, which] = values
        return late if late is not None and late.any() else None

    def forget(self, which: Indices) -> None:
        """Have some quantities be as if they had never been told, with the value zero."""
        self.stamps[:, which] = NEVER
        self.values[:, which] = 0.0

    def set_back(self) -> None:
        """Have all samples be of long ago: the clock was set back, and any stamp is newer now."""
        known = self.stamps[0] != NEVER
        self.stamps[:] = NEVER
        self.stamps[0, known] = LONG_AGO

    def adopt(self, mine: Indices, other: History, theirs: Indices) -> None:
        """Take over the samples of some quantities of another history."""
        self.stamps[:, mine] = other.stamps[:, theirs]
        self.values[:, mine] = other.values[:, theirs]

    def at(self, time: int) -> Array:
        """(size) the values at a time [ns]; the newest where that is older, or the oldest known."""
        later = self.stamps > time
        if not later[0].any():
            return self.values[0].copy()
        count = later.sum(axis=0)
        columns = np.arange(len(count))
        before, after = np.minimum(count, DEPTH - 1), np.maximum(count - 1, 0)
        s0, s1 = self.stamps[before, columns], self.stamps[after, columns]
        inside = (count > 0) & (count < DEPTH) & (s0 > LONG_AGO)
        v0, v1 = self.values[before, columns], self.values[after, columns]
        share = np.where(inside, (time - s0) / np.where(inside, s1 - s0, 1), count > 0)
        # Not v0 + share (v1 - v0), whose difference may overflow.
        return (1.0 - share) * v0 + share * v1
