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
from itertools import pairwise
from typing import NamedTuple

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


class BaseSample(NamedTuple):
    """Coordinates q of the root joint and its velocity v at a stamp [ns]."""

    stamp: int
    q: Array
    v: Array


class MovingBase:
    """Last samples of a moving base, with interpolation in time.

    Attributes:
        samples: the samples, the newest last.
    """

    def __init__(self, carry: Callable[[Array, Array], Array]) -> None:
        """Creates it without samples.

        Args:
            carry: integrates coordinates by a tangent vector (velocity times time).
        """
        self._carry = carry
        self.samples: deque[BaseSample] = deque(maxlen=DEPTH)

    @property
    def stamp(self) -> int:
        """Stamp of the newest sample [ns]; ``NEVER`` if there is none."""
        return self.samples[-1].stamp if self.samples else NEVER

    @property
    def interval(self) -> float:
        """Usual interval of the samples [ns]; 0 while unknown."""
        count = len(self.samples) - 1
        return (self.samples[-1].stamp - self.samples[0].stamp) / count if count > 0 else 0.0

    def add(self, sample: BaseSample) -> bool:
        """Adds a sample; returns False if it is older than the newest one."""
        if sample.stamp < self.stamp:
            return False
        if sample.stamp == self.stamp:
            self.samples.pop()
        self.samples.append(sample)
        return True

    def at(self, time: int) -> tuple[Array, Array]:
        """Returns q and v at a time [ns].

        q is that of the nearest sample, extrapolated by its twist for at most ``ALIGNED``; v is
        interpolated between two samples.
        """
        after = self.samples[-1]
        for before in reversed(self.samples):
            if before.stamp <= time:
                break
            after = before
        v = before.v
        if before.stamp <= time < after.stamp:
            v = v + (time - before.stamp) / (after.stamp - before.stamp) * (after.v - v)
        nearest = before if abs(time - before.stamp) <= abs(after.stamp - time) else after
        elapsed = min(max(time - nearest.stamp, -ALIGNED), ALIGNED)
        return self._carry(nearest.q, elapsed * 1e-9 * nearest.v) if elapsed else nearest.q, v


class Publisher:
    """A publisher of some quantities, and its last samples.

    Attributes:
        which: (n) its quantities.
        samples: stamp [ns] and values (n), the newest first.
        stamp: stamp of its last message that was synchronized [ns].
        count: synchronized messages with new stamps, up to ``MIN_MESSAGES``.
        missed: per other publisher, messages of that one since its own last message.
    """

    def __init__(self, which: Indices) -> None:
        self.which, self._reported = which, frozenset(which.tolist())
        self.samples: deque[tuple[int, Array]] = deque(maxlen=DEPTH)
        self.stamp, self.count = NEVER, 0
        self.missed: dict[Publisher, int] = {}

    def add(self, stamp: int, values: Array) -> None:
        """Adds a sample; it replaces one of the same stamp, and older ones are dropped."""
        if self.samples and self.samples[0][0] >= stamp:
            if self.samples[0][0] > stamp:
                return
            self.samples.popleft()
        self.samples.appendleft((stamp, values))

    def at(self, time: int) -> Array:
        """Returns the values (n) at a time before the newest sample [ns]."""
        for (later, after), (before, values) in pairwise(self.samples):
            if before <= time:
                share = (time - before) / (later - before)
                # values + share (after - values) could overflow in the difference.
                return (1.0 - share) * values + share * after
        return self.samples[-1][1]

    @property
    def interval(self) -> float:
        """Usual interval of its stamps [ns]; 0 while unknown."""
        count = len(self.samples) - 1
        return (self.samples[0][0] - self.samples[-1][0]) / count if count > 0 else 0.0

    def record(self, stamp: int) -> None:
        """Records the stamp of a message [ns]."""
        self.missed.clear()
        if stamp > self.stamp:
            self.stamp, self.count = stamp, min(self.count + 1, MIN_MESSAGES)

    def waits_for(self, other: Publisher, missed: int) -> bool:
        """Whether this publisher waits for another that missed some of its messages."""
        return (
            self.count == other.count == MIN_MESSAGES
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
            if publisher.samples and publisher.samples[0][0] > time:
                which, past = publisher.which, publisher.at(time)
                own = (self.stamps[which] == publisher.samples[0][0]) & np.isfinite(past)
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
            publisher.stamp = stamp
            publisher.samples.clear()
            publisher.samples.extend(((stamp, values), (stamp - self._interval, values)))

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
        publisher.add(stamp, sample)
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
        publisher.record(stamp)
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
        self.base.samples.clear()
        self._publishers.clear()
        self.newest = self.moment = NEVER

    def _advance(self, moment: int, least: int = 0) -> None:
        """Advances the output time to ``moment`` if that is a step of at least ``least`` [ns]."""
        self.due = moment - self.moment >= least
        if self.due:
            self.moment = moment
