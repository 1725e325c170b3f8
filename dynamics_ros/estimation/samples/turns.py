# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Synchronization of publishers that report parts of the robot alternately.

Two drivers with half of the joints each never sample at the same time, and their clocks may differ
by milliseconds. Their latest reports belong to different times, and a momentum computed from both
jumps with every message. A state is therefore assembled for the newest time that all synchronized
publishers have reported. Publishers are synchronized if their rates are similar; a publisher that
has stopped is not waited for.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

MIN_MESSAGES = 3
"""Number of messages after which a publisher takes part in the synchronization."""

MAX_MISSED = 3
"""Number of messages of one publisher during which it waits for another: two consecutive messages
of that one may be lost."""

MAX_INTERVAL_RATIO = 1.5
"""A publisher is not waited for if its interval is longer by this factor, since it would slow down
the states."""

MAX_APART = 8
"""Maximum difference between the stamps of synchronized publishers in intervals, half of the depth
of ``History``."""

MIN_STATE_STEP = 0.5
"""Minimum time between states of alternating publishers as a share of an interval. They produce one
state per cycle, completed by the later one of the pair with the closer stamps."""

STEP = 1.1
"""Factor by which the usual interval follows the last one, up or down; it bounds the effect of a
lost or late message."""

MAX_PUBLISHERS = 16
"""Maximum number of distinguished publishers."""


@dataclass
class Publisher:
    """A publisher of some quantities.

    Attributes:
        reported: its quantities.
        stamp: stamp of its last message [ns].
        interval: usual interval of its stamps [ns]; 0 while unknown.
        count: messages with new stamps, up to ``MIN_MESSAGES``.
        silence: per other publisher, messages of that one since its own last message.
    """

    reported: frozenset[int]
    stamp: int
    interval: float = 0.0
    count: int = 1
    silence: dict[Hashable, int] = field(default_factory=dict)

    def record(self, stamp: int) -> None:
        """Updates the interval with a message [ns]."""
        self.silence.clear()
        interval = stamp - self.stamp
        if interval <= 0:
            return
        self.stamp = stamp
        self.count = min(self.count + 1, MIN_MESSAGES)
        if not self.interval:
            self.interval = interval
        else:
            self.interval *= STEP if interval > self.interval else 1.0 / STEP

    def waits_for(self, other: Publisher, silence: int) -> bool:
        """Whether this publisher waits for another, silent during ``silence`` of its messages."""
        return (
            self.count == other.count == MIN_MESSAGES
            and other.interval <= MAX_INTERVAL_RATIO * self.interval
            and abs(self.stamp - other.stamp) <= MAX_APART * self.interval
            and silence <= MAX_MISSED
            and self.reported.isdisjoint(other.reported)
        )


class PublisherSynchronizer:
    """Determines the time of a state that combines messages of several publishers."""

    def __init__(self) -> None:
        """Creates it without publishers."""
        self._publishers: dict[Hashable, Publisher] = {}

    def record(self, key: Hashable, reported: frozenset[int], stamp: int) -> tuple[int, int]:
        """Records a message.

        Args:
            key: identifies the publisher.
            reported: the quantities in the message.
            stamp: its stamp [ns].

        Returns:
            Newest time [ns] that all synchronized publishers have reported, and the minimum time
            since the last state [ns] for a new state.
        """
        known = self._publishers
        sender = known.get(key)
        if sender is None or (sender.reported is not reported and sender.reported != reported):
            if len(known) >= MAX_PUBLISHERS:
                known.clear()
            known[key] = sender = Publisher(reported, stamp)
        else:
            sender.record(stamp)
        moment, least = stamp, 0
        for other in known.values():
            if other is sender:
                continue
            other.silence[key] = silence = other.silence.get(key, 0) + 1
            if sender.waits_for(other, silence):
                least = max(least, 1)
                if other.stamp < moment:
                    moment, least = other.stamp, round(MIN_STATE_STEP * sender.interval)
        return moment, least

    def spread(self) -> float:
        """Returns the difference between the last stamps of alternating publishers [s]."""
        stamps = [
            publisher.stamp
            for publisher in self._publishers.values()
            if publisher.count == MIN_MESSAGES
            and max(publisher.silence.values(), default=0) <= MAX_MISSED
        ]
        return (max(stamps) - min(stamps)) * 1e-9 if stamps else 0.0

    def clear(self) -> None:
        """Removes all publishers after the clock was set back."""
        self._publishers.clear()
