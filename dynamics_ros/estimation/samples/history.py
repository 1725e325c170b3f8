# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The last samples of many quantities that are not all told at once, and their values in between.

Each quantity (a position, velocity or effort of a joint) has stamps of its own. Values at a time
between two samples are interpolated, never extrapolated: a slope through two samples would raise
the noise of velocities several times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

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

MAX_FOUND = 64
"""Selections of quantities whose tracks are remembered: one for each publisher."""


class _Track:
    """Quantities that have always been told together, and their last samples.

    Attributes:
        which: (n) the quantities.
        samples: stamp [ns] and values (n), the newest first.
    """

    def __init__(self, which: Indices, samples: Iterable[tuple[int, Array]] = ()) -> None:
        self.which = which
        self.samples = deque(samples, DEPTH)

    @property
    def newest(self) -> int:
        """Stamp of the newest sample [ns]."""
        return self.samples[0][0] if self.samples else NEVER

    def part(self, places: Indices) -> _Track:
        """The quantities in some places."""
        samples = ((stamp, values[places]) for stamp, values in self.samples)
        return _Track(self.which[places], samples)

    def at(self, time: int) -> Array:
        """(n) the values at a time [ns], of at least one sample."""
        later, after = self.samples[0]
        if later <= time:
            return after
        for before, values in islice(self.samples, 1, None):
            if before <= time:
                if before <= LONG_AGO:
                    return after
                share = (time - before) / (later - before)
                # Not values + share (after - values), whose difference may overflow.
                return (1.0 - share) * values + share * after
            later, after = before, values
        return after


class History:
    """The last ``DEPTH`` samples of each of many quantities.

    Drivers tell many quantities at a time, and always the same ones. So samples are kept by tracks,
    of what has been told together until now; a message about a part of a track divides it.

    Attributes:
        newest: (size) stamp of the last sample of each quantity [ns].
        changes: how often a quantity was told for the first time, or forgotten.
    """

    def __init__(self, size: int) -> None:
        """Begin without any sample."""
        self.newest = np.full(size, NEVER, dtype=np.int64)
        self.changes = 0
        self._tracks = [_Track(np.arange(size))]
        self._found: dict[bytes, list[tuple[_Track, Indices]]] = {}

    def spread(self) -> tuple[int, int]:
        """The oldest and the newest of the last stamps of what has been told [ns]."""
        stamps = [track.newest for track in self._tracks if track.samples]
        return min(stamps, default=NEVER), max(stamps, default=NEVER)

    def add(self, which: Indices, values: Array, stamp: int) -> NDArray[np.bool_] | None:
        """Take a sample of some quantities in.

        A repeated stamp replaces what was told before; one that is older is dropped.

        Args:
            which: (n) the quantities.
            values: (n) of them, which nobody writes to.
            stamp: ns.

        Returns:
            (n) which of them were dropped; None where none was.
        """
        late = None
        for track, places in self._tracks_of(which):
            newest = track.newest
            if newest > stamp:
                late = np.zeros(len(which), dtype=bool) if late is None else late
                late[places] = True
                continue
            self.changes += newest == NEVER
            if newest == stamp:
                track.samples.popleft()
            track.samples.appendleft((stamp, values[places]))
            self.newest[track.which] = stamp
        return late

    def forget(self, which: Indices) -> None:
        """Have some quantities be as if they had never been told, with the value zero."""
        self.changes += 1
        for track, _ in self._tracks_of(which):
            track.samples.clear()
        self.newest[which] = NEVER

    def set_back(self) -> None:
        """Have all samples be of long ago: the clock was set back, and any stamp is newer now."""
        for track in self._tracks:
            if track.samples:
                values = track.samples[0][1]
                track.samples.clear()
                track.samples.append((LONG_AGO, values))
                self.newest[track.which] = LONG_AGO

    def adopt(self, mine: Indices, other: History, theirs: Indices) -> None:
        """Take over the samples of some quantities of another history."""
        self.changes += 1
        self.newest[mine] = other.newest[theirs]
        for track in other._tracks:
            ours, places = np.nonzero(theirs[:, None] == track.which)
            if len(ours):
                taken = track.part(places)
                for own, wanted in self._tracks_of(mine[ours]):
                    own.samples = taken.part(wanted).samples

    def at(self, time: int) -> Array:
        """(size) the values at a time [ns]; the newest where that is older, or the oldest known."""
        result = np.zeros(len(self.newest))
        for track in self._tracks:
            if track.samples:
                result[track.which] = track.at(time)
        return result

    def _tracks_of(self, which: Indices) -> list[tuple[_Track, Indices]]:
        """The tracks of some quantities, and the places of theirs among these."""
        key = which.tobytes()
        found = self._found.get(key)
        if found is None:
            if self._divide(which) or len(self._found) >= MAX_FOUND:
                self._found.clear()
            found = []
            for track in self._tracks:
                own, places = np.nonzero(track.which[:, None] == which)
                if len(own):
                    found.append((track, places))
            self._found[key] = found
        return found

    def _divide(self, which: Indices) -> bool:
        """Divide tracks of which only a part is among some quantities; whether there are any."""
        tracks = []
        for track in self._tracks:
            inside = np.isin(track.which, which)
            parts = [np.flatnonzero(mask) for mask in (inside, ~inside) if mask.any()]
            tracks += [track.part(places) for places in parts] if len(parts) > 1 else [track]
        divided = len(tracks) > len(self._tracks)
        self._tracks = tracks
        return divided
