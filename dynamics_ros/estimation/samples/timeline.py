# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples of joints and base over time, with late messages, and the times of the output states.

A quantity is the position, velocity or effort of a joint. Values between two samples of the same
publisher are interpolated, never extrapolated: a slope through two samples would multiply the noise
of velocities.

Two drivers with half of the joints each never sample at the same time, and their clocks may differ
by milliseconds. Their latest reports belong to different times, and a momentum computed from both
jumps with every message. A state is therefore assembled for the newest time that all synchronized
publishers have reported. Publishers are synchronized if their rates are similar; a publisher that
has stopped is not waited for.

A late message is a few periods old and arrives alone. After a bag restarts or a simulator is reset,
all following messages are old: the clock was set back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from operator import sub
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .reports import Array, Indices, Stamps

NEVER = -(2**62)
"""Stamp of a quantity without a received or finite value: as early as subtraction allows."""

DEPTH = 16
"""Number of samples that are kept."""

ALIGNED = 100_000_000
"""Maximum time over which the twist extrapolates a pose [ns]: five periods of odometry at 50 Hz.
For a base that brakes with 2 m/s^2 the error is then 1 cm."""

MIN_MESSAGES = 3
"""Number of messages after which a publisher takes part in the synchronization."""

OVERDUE_AFTER = 0.95
"""Number of usual intervals after which the next message of a publisher is late. With alternating
publishers the reports are newer than that, and a single outdated momentum appears as a large
external torque."""

MAX_MISSED = 3
"""Number of messages of one publisher during which it waits for another: two consecutive messages
of that one may be lost."""

MAX_INTERVAL_RATIO = 1.5
"""A publisher is not waited for if its interval is longer by this factor, since it would slow down
the states."""

MAX_APART = 8
"""Maximum difference between the stamps of synchronized publishers in intervals, half of
``DEPTH``."""

MIN_STATE_STEP = 0.5
"""Minimum time between states of alternating publishers as a share of an interval. They produce one
state per cycle, completed by the later one of the pair with the closer stamps."""

MAX_PUBLISHERS = 16
"""Maximum number of distinguished publishers."""

JUMP = 0.5
"""Minimum backward jump of a clock [s]: no network delays sensor messages by as much, and no bag is
shorter."""

JUMP_NS = round(JUMP * 1e9)

LONG_AGO = NEVER + 1
"""Stamp of values that were received before the clock was set back."""

MIN_OLD_MESSAGES = 3
"""Number of consecutive old messages about the same joints that indicate a jump."""


class Samples:
    """Last samples of one source.

    Attributes:
        samples: tuples of a stamp [ns] and values, the newest last.
    """

    def __init__(self) -> None:
        """Creates it without samples."""
        self.samples: deque[Any] = deque(maxlen=DEPTH)

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
        if sample[0] < self.stamp:
            return False
        if self.stamp == LONG_AGO:
            self.samples.clear()
        if sample[0] == self.stamp:
            self.samples.pop()
        self.samples.append(sample)
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
    """A publisher of some quantities, with the values (n) of its last messages.

    Attributes:
        which: (n) its quantities.
        missed: per other publisher, messages of that one since its own last message.
    """

    def __init__(self, which: Indices) -> None:
        super().__init__()
        self.which, self._reported = which, frozenset(which.tolist())
        self.missed: dict[Publisher, int] = {}

    def at(self, time: int) -> Array:
        """Returns the values (n) at a time [ns]."""
        (_, earlier), (_, later), share = self.around(time)
        # earlier + share (later - earlier) could overflow in the difference.
        values: Array = (1.0 - share) * earlier + share * later
        return values

    def waits_for(self, other: Publisher, missed: int) -> bool:
        """Whether this publisher waits for another that missed some of its messages."""
        return (
            min(len(self.samples), len(other.samples)) >= MIN_MESSAGES
            and other.interval <= MAX_INTERVAL_RATIO * self.interval
            and abs(self.stamp - other.stamp) <= MAX_APART * self.interval
            and missed <= MAX_MISSED
            and self._reported.isdisjoint(other._reported)
        )


class Timeline:
    """Stores samples of joint quantities and of the base, and decides when a state is complete.

    Values older than the newest one of the same quantity are dropped. The times of output states
    never decrease, unless the clock was set back.

    Attributes:
        stamps: (size) stamp of the last sample of each quantity [ns]; ``NEVER`` without one.
        changes: counter that increases when a quantity receives its first value or loses it.
        base: samples of the base.
        newest: newest stamp of a joint state [ns].
        moment: time of the last output state [ns].
        due: whether the last message completed a state, at ``moment``.
        dropped: number of messages with a dropped value.
        jumps, last_jump: number of backward jumps of the clock; stamps before and after the last
            one [ns].
    """

    def __init__(self, blank: Array, places: Indices, base: MovingBase) -> None:
        """Creates a timeline of quantities and a base without samples.

        Args:
            blank: (m) result of ``at`` while there are no samples.
            places: (size) index of each quantity in it.
            base: samples of the base.
        """
        size = len(places)
        self.stamps: Stamps = np.full(size, NEVER, dtype=np.int64)
        self.base = base
        self.changes = self.dropped = 0
        self.newest = self.moment = NEVER
        self._interval = 0  # between the last complete messages
        self.due = False
        self.jumps, self.last_jump = 0, (0, 0)
        # Consecutive messages with an old value of each quantity, and of the base.
        self._old = np.zeros(size + 1, dtype=np.int64)
        self._base = np.array([size])
        self._blank, self._places, self._last = blank, places, blank[places]
        self._publishers: dict[bytes, Publisher] = {}

    def adopt(self, other: Timeline, mine: Indices, theirs: Indices) -> None:
        """Takes over times, counters and samples of another timeline, without those of its base.

        Args:
            other: the other one.
            mine, theirs: (n) quantities here, and the same ones there.
        """
        self.newest, self.moment, self.dropped = other.newest, other.moment, other.dropped
        self.jumps, self.last_jump = other.jumps, other.last_jump
        self.changes += 1
        self.stamps[mine], self._last[mine] = other.stamps[theirs], other._last[theirs]
        if len(mine) == len(self.stamps) == len(other.stamps) and np.array_equal(mine, theirs):
            self._publishers = other._publishers

    def at(self, time: int) -> Array:
        """Returns ``blank`` (m) with the values of all quantities at a time [ns].

        Before the oldest and after the newest sample of a quantity its value is that of this
        sample.
        """
        values = self._last.copy()
        for publisher in self._publishers.values():
            if publisher.stamp > time:
                which, past = publisher.which, publisher.at(time)
                own = (self.stamps[which] == publisher.stamp) & np.isfinite(past)
                values[which[own]] = past[own]
        result = self._blank.copy()
        result[self._places] = values
        return result

    def skip_to(self, stamp: int) -> None:
        """Records the stamp [ns] of a complete message that is not older than any other."""
        if self.newest != NEVER:
            self._interval = stamp - self.newest
        self.newest = self.moment = stamp
        self.due = True

    def overdue(self) -> NDArray[np.bool_]:
        """Returns the mask (size) of quantities whose next report is late."""
        mask = np.zeros(len(self.stamps), dtype=bool)
        for publisher in self._publishers.values():
            interval = publisher.interval
            if interval > 0.0:
                # Of a message, single values may be missing.
                stamps = self.stamps[publisher.which]
                late = self.moment - stamps > OVERDUE_AFTER * interval
                mask[publisher.which] |= late & (stamps <= publisher.stamp)
        return mask

    def store_complete(self, which: Indices, values: Array, stamp: int) -> None:
        """Stores the last of the messages that were recorded by ``skip_to``."""
        publisher = self._store(which, values, stamp, which)
        if publisher is not None and self._interval > 0:
            publisher.samples.clear()
            publisher.samples.extend(((stamp - self._interval, values), (stamp, values)))

    def _store(
        self, which: Indices, values: Array, stamp: int, message: Indices
    ) -> Publisher | None:
        """Stores the values of a message, without those that are late; arguments as of ``add``.

        Returns:
            The publisher; None if all values are late.
        """
        before = self.stamps[which]
        late = before > stamp
        # A value that was forgotten takes any stamp, so that not all have to be late.
        if late.any() and self._clock_jumped(which[late], self.newest, stamp):
            self._set_back()
            return self._store(which, values, stamp, message)
        key = message.tobytes()
        if key not in self._publishers:
            if len(self._publishers) >= MAX_PUBLISHERS:
                self._publishers.clear()
            self._publishers[key] = Publisher(message)
        if late.all():
            return None
        self.changes += bool((before == NEVER).any())
        self.dropped += bool(late.any())
        publisher, sample = self._publishers[key], values
        if len(which) < len(message):
            sample = np.full(len(message), np.nan)
            sample[np.isin(message, which)] = values
        publisher.add((stamp, sample))
        which, values = which[~late], values[~late]
        self.stamps[which], self._last[which], self._old[which] = stamp, values, 0
        return publisher

    def forget(self, which: Indices) -> None:
        """Removes the values of some quantities; each is that of ``blank`` again."""
        self.changes += 1
        self.stamps[which], self._last[which] = NEVER, self._blank[self._places[which]]

    def add(
        self, which: Indices, values: Array, stamp: int, message: Indices | None = None
    ) -> None:
        """Adds a message with some quantities, which identify its publisher.

        Args:
            which: (n) quantities.
            values: (n) their values; the array must not be modified afterwards.
            stamp: ns.
            message: quantities in the message, which contain ``which`` in the same order, if not
                all are known.
        """
        publisher = self._store(which, values, stamp, which if message is None else message)
        if publisher is None:
            self.dropped += 1
            return
        self.newest = max(self.newest, stamp)
        publisher.missed.clear()
        moment, least = stamp, 0
        for other in self._publishers.values():
            if other is not publisher:
                other.missed[publisher] = missed = other.missed.get(publisher, 0) + 1
                if publisher.waits_for(other, missed):
                    least = max(least, 1)
                    if other.stamp < moment:
                        moment = other.stamp
                        least = round(MIN_STATE_STEP * publisher.interval)
        self._advance(moment, least)

    def add_base(self, sample: BaseSample, *, alone: bool) -> bool:
        """Adds a sample of the base; returns False if it is too old.

        Args:
            sample: the sample.
            alone: whether the robot has no joints, so that the sample completes a state.
        """
        if not self.base.add(sample):
            if not self._clock_jumped(self._base, self.base.stamp, sample.stamp):
                self.dropped += 1
                return False
            # Joints and base may be stamped by different clocks.
            self.base.samples.clear()
            self.base.add(sample)
            if alone:
                self.moment = NEVER
        self._old[-1] = 0
        if alone:
            self.newest = sample.stamp
            self._advance(sample.stamp)
        return True

    def _clock_jumped(self, which: Indices, before: int, stamp: int) -> bool:
        """Whether the clock was set back, to be called for old values of a message.

        Args:
            which: quantities with old values.
            before: newest stamp so far [ns].
            stamp: stamp of the message [ns].
        """
        if before - stamp <= JUMP_NS:
            return False
        self._old[which] += 1
        if self._old[which].min() < MIN_OLD_MESSAGES:
            return False
        self._old[:] = 0
        self.jumps, self.last_jump = self.jumps + 1, (before, stamp)
        return True

    def describe_jumps(self) -> str:
        """Describes the last backward jump of the clock, and the number of jumps."""
        if not self.jumps:
            return 'never set back'
        before, after = self.last_jump
        times = f'; {self.jumps} times so far' if self.jumps > 1 else ''
        return (
            f'set back by {(before - after) * 1e-9:.3f} s, from {before * 1e-9:.3f} s to '
            f'{after * 1e-9:.3f} s{times}'
        )

    def _set_back(self) -> None:
        """Marks all samples as old after the clock was set back, so that any stamp is newer."""
        self.stamps[self.stamps != NEVER] = LONG_AGO
        if self.base.samples:
            last = self.base.samples[-1]
            self.base.samples.clear()
            self.base.samples.append(last._replace(stamp=LONG_AGO, v=0.0 * last.v))
        self._publishers.clear()
        self.newest = self.moment = NEVER

    def _advance(self, moment: int, least: int = 0) -> None:
        """Advances the output time to ``moment`` if that is a step of at least ``least`` [ns]."""
        self.due = moment - self.moment >= least
        if self.due:
            self.moment = moment
