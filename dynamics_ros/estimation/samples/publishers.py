# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Last samples of the publishers of joint states, and of a moving base.

Values between two samples of the same publisher are interpolated, never extrapolated: a slope
through two samples would multiply the noise of velocities.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from operator import sub
from typing import Any, NamedTuple

import numpy as np

from dynamics_ros.reasons import Figure, Names, Part

from .reports import Array, Indices, JointValues, Stamps

QUANTITIES = ('position', 'velocity', 'effort')

NEVER = -(2**62)
"""Stamp of a quantity without a received or finite value: as early as subtraction allows."""

LONG_AGO = NEVER + 1
"""Stamp of values that were received before the clock was set back."""

DEPTH = 16
"""Number of samples of a source that are kept."""

ALIGNED = 100_000_000
"""Maximum time over which the twist extrapolates a pose [ns]: five periods of odometry at 50 Hz.
For a base that brakes with 2 m/s^2 the error is then 1 cm."""

MIN_MESSAGES = 3
"""Number of messages after which a publisher takes part in the synchronization."""

MAX_MISSED = 3
"""Number of messages of one publisher during which it waits for another: two consecutive messages
of that one may be lost."""

MAX_INTERVAL_RATIO = 1.5
"""A publisher is not waited for if its interval is longer by this factor, since it would slow down
the states."""

MAX_APART = 8
"""Maximum difference between the stamps of synchronized publishers in intervals, half of
``DEPTH``."""

NO_NUMBERS = np.zeros(0)


class Samples:
    """Last samples of one source.

    Attributes:
        samples: tuples of a stamp [ns] and values, the newest last.
        old: number of consecutive messages that are older than ``JUMP_NS``.
    """

    def __init__(self) -> None:
        """Creates it without samples."""
        self.samples: deque[Any] = deque(maxlen=DEPTH)
        self.old = 0

    @property
    def stamp(self) -> int:
        """Stamp of the newest sample [ns]; ``NEVER`` if there is none."""
        return int(self.samples[-1][0]) if self.samples else NEVER

    @property
    def interval(self) -> float:
        """Usual interval of the samples [ns], also after a pause; 0 while unknown."""
        stamps = [sample[0] for sample in self.samples]
        steps = sorted(map(sub, stamps[1:], stamps))
        return float(steps[len(steps) // 2]) if steps else 0.0

    def add(self, sample: tuple[Any, ...]) -> bool:
        """Adds a sample, which replaces one of the same stamp; returns False if it is older."""
        last = self.stamp
        if sample[0] < last:
            return False
        if last == LONG_AGO:
            self.samples.clear()
        elif sample[0] == last:
            self.samples.pop()
        self.samples.append(sample)
        self.old = 0
        return True

    def around(self, time: int) -> tuple[Any, Any, float]:
        """Returns the samples before and after a time [ns], and the share of the latter.

        Before the oldest and after the newest sample both are that one.
        """
        after = self.samples[-1]
        for before in reversed(self.samples):
            if before[0] <= time:
                break
            after = before
        share = 0.0 if before is after else (time - before[0]) / (after[0] - before[0])
        return before, after, share


class BaseSample(NamedTuple):
    """Coordinates q of the root joint and its velocity v at a stamp [ns]."""

    stamp: int
    q: Array
    v: Array


class MovingBase(Samples):
    """Last samples of a moving base, each a ``BaseSample``."""

    def __init__(self, carry: Callable[[Array, Array], Array]) -> None:
        """Creates it without samples.

        Args:
            carry: integrates coordinates by a tangent vector (velocity times time).
        """
        super().__init__()
        self._carry = carry

    def at(self, time: int) -> tuple[Array, Array]:
        """Returns q and v at a time [ns].

        q is that of the nearest sample, extrapolated by its twist for at most ``ALIGNED``; v is
        interpolated between two samples.
        """
        before, after, share = self.around(time)
        v = before.v + share * (after.v - before.v)
        nearest = before if share <= 0.5 else after
        elapsed = min(max(time - nearest.stamp, -ALIGNED), ALIGNED)
        return self._carry(nearest.q, elapsed * 1e-9 * nearest.v) if elapsed else nearest.q, v


class Publisher(Samples):
    """Joint states with given names and array lengths, and the values (n) of the last ones.

    A velocity or effort that is not finite is NaN in them. A joint whose position is not finite
    keeps its previous values.

    Attributes:
        names, sizes: the names; numbers of positions, velocities, efforts.
        joints, unknown: names of joints of the robot; those that are neither these nor ignored.
        refusal: kind and detail of the reason to refuse these messages; None if there is none.
        complete: whether the names include each joint, and there are positions.
        quantities: whether the messages contain positions, velocities, efforts.
        which: (n) quantities in the messages: indices of positions, then of velocities, then of
            efforts, each block offset by the number of joints.
        places: indices of these quantities in q, v and effort concatenated.
        since: (n) stamps of the newest values [ns]; None if they are those of the newest sample.
        missed: per other publisher, messages of that one since its own last message.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        sizes: tuple[int, ...],
        slots: Mapping[str, int],
        ignored: frozenset[str],
        places: Indices,
    ) -> None:
        """Creates it without samples.

        Args:
            names, sizes: see the class.
            slots: joint names with their indices.
            ignored: further names that may occur and are not used.
            places: indices of all quantities in q, v and effort concatenated.
        """
        super().__init__()
        self.names, self.sizes = names, sizes
        counts = Counter(names)
        repeated = tuple(name for name, count in counts.items() if count > 1)
        self.refusal: tuple[str, tuple[Part, ...]] | None = None
        if repeated:
            own = tuple(name for name in repeated if name in slots)
            self.refusal = 'repeated names', (Names(own, ', '.join(repeated)),)
        for name, size in zip(QUANTITIES, sizes, strict=True):
            if self.refusal is None and size not in (0, len(names)):
                lengths = Figure(size, 'd'), ' values for ', Figure(len(names), 'd'), ' names'
                self.refusal = f'wrong length of {name}', lengths
        known = sorted((slots[name], i) for i, name in enumerate(names) if name in slots)
        self.joints = tuple(names[i] for _, i in known)
        self.unknown = tuple(x for x in counts if x not in slots and x not in ignored)
        self.quantities = tuple(size > 0 for size in sizes)
        self.complete = len(known) == len(slots) > 0 and self.quantities[0]
        slot, self._order = np.array(known, dtype=np.intp).reshape(-1, 2).T
        reported = [slot + i * len(slots) for i, size in enumerate(sizes) if size]
        self.which = np.concatenate([slot[:0], *reported])
        self._reported = frozenset(self.which.tolist())
        indices = places[self.which]
        contiguous = np.array_equal(indices, np.arange(len(indices)))
        self.places: Indices | slice = slice(len(indices)) if contiguous else indices
        # In ``JointValues.block`` one number lies between two quantities.
        self._block_indices = (np.arange(3)[:, np.newaxis] * (sizes[0] + 1) + self._order).ravel()
        self.since: Stamps | None = None
        self.missed: dict[Publisher, int] = {}

    def values(self, message: JointValues) -> Array:
        """Returns the values of ``which``; for several messages one row each."""
        if message.block is not None:
            values: Array = message.block.take(self._block_indices, axis=-1)
            return values
        fields = message.position, message.velocity, message.effort
        chosen = [x[..., self._order] for x in fields if x.size]
        return np.concatenate(chosen, axis=-1) if chosen else NO_NUMBERS

    def newest(self) -> tuple[Array, Stamps]:
        """Returns the newest values (n) and their stamps [ns]; NaN and ``NEVER`` without any."""
        if not self.samples:
            count = len(self.which)
            return np.full(count, np.nan), np.full(count, NEVER, dtype=np.int64)
        stamp, values = self.samples[-1]
        return values, np.full(len(values), stamp) if self.since is None else self.since

    def at(self, time: int) -> Array:
        """Returns the values (n) at a time [ns], as far as they are known then."""
        newest: Array = self.samples[-1][1]
        if self.stamp <= time:
            return newest
        (_, earlier), (_, later), share = self.around(time)
        # earlier + share (later - earlier) could overflow in the difference.
        values = (1.0 - share) * earlier + share * later
        return np.where(np.isfinite(values) & np.isfinite(newest), values, newest)

    def waits_for(self, other: Publisher, missed: int) -> bool:
        """Whether this publisher waits for another that missed some of its messages."""
        return (
            missed <= MAX_MISSED
            and min(len(self.samples), len(other.samples)) >= MIN_MESSAGES
            and self._reported.isdisjoint(other._reported)
            and other.interval <= MAX_INTERVAL_RATIO * self.interval
            and abs(self.stamp - other.stamp) <= MAX_APART * self.interval
        )

    def adopt(self, other: Publisher) -> None:
        """Copies the samples of a publisher with the same names and sizes for another robot."""
        mine, theirs = (
            [(i, name) for i, known in enumerate(x.quantities) if known for name in x.joints]
            for x in (self, other)
        )
        columns = [theirs.index(key) if key in theirs else -1 for key in mine]
        if self.refusal or not columns:
            return
        for stamp, values in other.samples:
            self.samples.append((stamp, np.append(values, np.nan)[columns]))
        if other.since is not None:
            self.since = np.append(other.since, NEVER)[columns]
