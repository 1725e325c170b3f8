# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Last samples of quantities with individual stamps, with interpolation in time.

A quantity is the position, velocity or effort of a joint. Values between two samples are
interpolated, never extrapolated: a slope through two samples would multiply the noise of
velocities.
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
"""Stamp of a quantity without a received or finite value: as early as subtraction allows."""

LONG_AGO = NEVER + 1
"""Stamp of values that were received before the clock was set back."""

DEPTH = 16
"""Number of samples kept per quantity."""

MAX_CACHED = 64
"""Maximum number of cached selections of quantities; each publisher needs one."""


class _Track:
    """Quantities that have always been reported together, and their last samples.

    Attributes:
        which: (n) the quantities.
        places: (n) their indices in the result of ``History.at``.
        samples: stamp [ns] and values (n), the newest first.
    """

    def __init__(
        self, which: Indices, places: Indices, samples: Iterable[tuple[int, Array]] = ()
    ) -> None:
        self.which, self.places = which, places
        self.samples = deque(samples, DEPTH)

    @property
    def newest(self) -> int:
        """Stamp of the newest sample [ns]."""
        return self.samples[0][0] if self.samples else NEVER

    def part(self, some: Indices | slice) -> _Track:
        """Returns a track of the quantities with the given indices."""
        samples = ((stamp, values[some]) for stamp, values in self.samples)
        return _Track(self.which[some], self.places[some], samples)

    def at(self, time: int) -> Array:
        """Returns the values (n) at a time [ns]; needs at least one sample."""
        later, after = self.samples[0]
        if later <= time:
            return after
        for before, values in islice(self.samples, 1, None):
            if before <= time:
                if before <= LONG_AGO:
                    return after
                share = (time - before) / (later - before)
                # values + share (after - values) could overflow in the difference.
                return (1.0 - share) * values + share * after
            later, after = before, values
        return after


class History:
    """Stores the last ``DEPTH`` samples of each of many quantities.

    Drivers report many quantities at a time, and always the same ones. Samples are therefore stored
    in tracks of quantities that have been reported together so far; a message with only a part of a
    track splits it.

    Attributes:
        size: number of quantities.
        changes: counter that increases when a quantity receives its first value or is cleared.
    """

    def __init__(self, blank: Array, places: Indices) -> None:
        """Creates a history without samples.

        Args:
            blank: (m) result of ``at`` while there are no samples.
            places: (size) index of each quantity in it.
        """
        self.changes = 0
        self._blank, self.size = blank, len(places)
        self._tracks = [_Track(np.arange(self.size), places)]
        self._cache: dict[bytes, list[tuple[_Track, Indices | slice]]] = {}

    @property
    def newest(self) -> Stamps:
        """(size) stamp of the last sample of each quantity [ns]."""
        result = np.full(self.size, NEVER, dtype=np.int64)
        for track in self._tracks:
            result[track.which] = track.newest
        return result

    def spread(self) -> tuple[int, int]:
        """Returns the oldest and the newest of the last stamps of received quantities [ns]."""
        stamps = [track.samples[0][0] for track in self._tracks if track.samples]
        return min(stamps, default=NEVER), max(stamps, default=NEVER)

    def add(self, which: Indices, values: Array, stamp: int) -> NDArray[np.bool_] | None:
        """Adds a sample of some quantities.

        A repeated stamp replaces the values of that stamp; older values are dropped.

        Args:
            which: (n) the quantities.
            values: (n) their values; the array must not be modified afterwards.
            stamp: ns.

        Returns:
            (n) mask of dropped quantities; None if none was dropped.
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
        return late

    def forget(self, which: Indices) -> None:
        """Clears the samples of some quantities; their value is that of ``blank`` again."""
        self.changes += 1
        for track, _ in self._tracks_of(which):
            track.samples.clear()

    def set_back(self) -> None:
        """Marks all samples as old after the clock was set back, so that any stamp is newer."""
        for track in self._tracks:
            if track.samples:
                values = track.samples[0][1]
                track.samples.clear()
                track.samples.append((LONG_AGO, values))

    def adopt(self, mine: Indices, other: History, theirs: Indices) -> None:
        """Copies the samples of quantities ``theirs`` of another history to ``mine``."""
        self.changes += 1
        for track in other._tracks:
            ours, places = np.nonzero(theirs[:, None] == track.which)
            if len(ours):
                taken = track.part(places)
                for own, wanted in self._tracks_of(mine[ours]):
                    own.samples = taken.part(wanted).samples

    def at(self, time: int) -> Array:
        """Returns ``blank`` (m) with the values of all quantities at a time [ns].

        Before the oldest and after the newest sample of a quantity its value is that of this
        sample.
        """
        result = self._blank.copy()
        for track in self._tracks:
            if track.samples:
                result[track.places] = track.at(time)
        return result

    def _tracks_of(self, which: Indices) -> list[tuple[_Track, Indices | slice]]:
        """Returns the tracks of some quantities, each with the places of its own in ``which``."""
        key = which.tobytes()
        found = self._cache.get(key)
        if found is None:
            if self._divide(which) or len(self._cache) >= MAX_CACHED:
                self._cache.clear()
            found = []
            for track in self._tracks:
                own, places = np.nonzero(track.which[:, None] == which)
                if len(own):
                    all_in_order = np.array_equal(places, np.arange(len(which)))
                    found.append((track, slice(None) if all_in_order else places))
            self._cache[key] = found
        return found

    def _divide(self, which: Indices) -> bool:
        """Splits tracks that are only partly in ``which``; returns whether any was split."""
        tracks = []
        for track in self._tracks:
            inside = np.isin(track.which, which)
            parts = [np.flatnonzero(mask) for mask in (inside, ~inside) if mask.any()]
            tracks += [track.part(places) for places in parts] if len(parts) > 1 else [track]
        divided = len(tracks) > len(self._tracks)
        self._tracks = tracks
        return divided
