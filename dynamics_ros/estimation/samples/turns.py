# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishers that tell a part of the robot each, and take turns: up to when all is known.

Two drivers of half the joints each never sample at the same moment, and the clocks that they stamp
by may differ by milliseconds. What one has told last and what the other has told last are then of
two moments; momenta mixed of both jump with every message. So a state is put together for the
newest moment that all of them have told about: it waits for those that are *in step*, which speak
about as often, and not for one that has become silent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

REGULAR = 3
"""Messages after which a publisher is known well enough to wait, and to be waited for."""

PATIENCE = 3
"""Messages of one publisher through which it waits for another: two in a row may be lost."""

SLOWER = 1.5
"""Not waited for is who speaks this many times less often: states would be as seldom."""

APART = 8
"""Intervals that stamps in step may be apart, half of what ``History`` keeps."""

FRESH = 0.5
"""Share of an interval that a state is newer than the one before, where publishers take turns; so
they make one state a cycle, when the later one of the closer pair has spoken."""

STEP = 1.1
"""The usual interval follows the last one by this factor, up or down: one that was lost, or late,
changes it little."""

MAX_PUBLISHERS = 16
"""Publishers that are told apart."""


@dataclass
class Publisher:
    """Who tells some quantities.

    Attributes:
        told: the quantities.
        stamp: of the last message [ns].
        interval: usual one between stamps [ns]; 0 while unknown.
        count: messages with new stamps, up to ``REGULAR``.
        silence: messages of others since its last one.
    """

    told: frozenset[int]
    stamp: int
    interval: float = 0.0
    count: int = 1
    silence: Counter[Hashable] = field(default_factory=Counter)

    def hear(self, stamp: int) -> None:
        """Take note of a message."""
        self.silence.clear()
        interval = stamp - self.stamp
        if interval <= 0:
            return
        self.stamp = stamp
        self.count = min(self.count + 1, REGULAR)
        if not self.interval:
            self.interval = interval
        else:
            self.interval *= STEP if interval > self.interval else 1.0 / STEP

    def takes_turns_with(self, other: Publisher, silence: int) -> bool:
        """Whether it waits for another one, which has been silent for so many of its messages."""
        return (
            self.count == other.count == REGULAR
            and other.interval <= SLOWER * self.interval
            and abs(self.stamp - other.stamp) <= APART * self.interval
            and silence <= PATIENCE
            and self.told.isdisjoint(other.told)
        )


class Turns:
    """Says of which moment a state is that is put together of messages of several publishers."""

    def __init__(self) -> None:
        """Begin without having heard of any."""
        self._publishers: dict[Hashable, Publisher] = {}

    def hear(self, key: Hashable, told: frozenset[int], stamp: int) -> tuple[int, int]:
        """Take note of a message.

        Args:
            key: tells publishers apart.
            told: the quantities in the message.
            stamp: of it [ns].

        Returns:
            The newest time [ns] that all publishers in step have told about, and by how much at
            least it is to be newer than the last one [ns] to be worth a state.
        """
        known = self._publishers
        speaker = known.get(key)
        if speaker is None or (speaker.told is not told and speaker.told != told):
            if len(known) >= MAX_PUBLISHERS:
                known.clear()
            known[key] = speaker = Publisher(told, stamp)
        else:
            speaker.hear(stamp)
        moment, least = stamp, 0
        for other in known.values():
            if other is speaker:
                continue
            other.silence[key] += 1
            if speaker.takes_turns_with(other, other.silence[key]):
                least = max(least, 1)
                if other.stamp < moment:
                    moment, least = other.stamp, round(FRESH * speaker.interval)
        return moment, least

    def spread(self) -> float:
        """By how much the last stamps of those who take turns are apart [s]."""
        stamps = [
            publisher.stamp
            for publisher in self._publishers.values()
            if publisher.count == REGULAR and max(publisher.silence.values(), default=0) <= PATIENCE
        ]
        return (max(stamps) - min(stamps)) * 1e-9 if stamps else 0.0

    def clear(self) -> None:
        """Forget all of them: the clock has been set back."""
        self._publishers.clear()
