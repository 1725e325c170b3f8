# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate, gaps and clock jumps of joint states, from their stamps."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.samples.clock_jumps import JUMP_NS
from dynamics_ros.estimation.samples.reports import NANOSECONDS
from dynamics_ros.identification.joint_states.clock import GAP_PERIODS, GAP_TIME
from dynamics_ros.recordings.states import Batch

Stamps = NDArray[np.int64]

BLOCK = 4096
"""Number of messages processed together."""

STAMP = slice(4, 12)
"""Byte range of the stamp in a message."""

ORDERS = {0: struct.Struct('>iI'), 1: struct.Struct('<iI')}
"""Formats of a stamp by byte order, the second byte of the encapsulation."""


@dataclass(frozen=True)
class ClockReport:
    """Timing of the messages of a publisher.

    Attributes:
        rate: messages per second without gaps [Hz].
        jitter: standard deviation of the intervals without gaps [s].
        gaps, longest_gap: number of gaps, and the longest one [s].
        jumps, largest_jump: number of clock jumps, and the largest one [s].
        late: messages whose stamp is not newer than the previous one, except for jumps.
        begin, end: recorded times of the first and the last message [ns].
    """

    rate: float = 0.0
    jitter: float = 0.0
    gaps: int = 0
    longest_gap: float = 0.0
    jumps: int = 0
    largest_jump: float = 0.0
    late: int = 0
    begin: int = 0
    end: int = 0


class ClockWatch:
    """Collects stamps of joint states; messages of another length are of another publisher."""

    def __init__(self, topic: str) -> None:
        """Creates it for the joint states on a topic."""
        self._topic = topic
        self._publishers: dict[int, _Publisher] = {}

    def watched(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yields the same batches."""
        publishers = self._publishers
        for batch in batches:
            if batch.topic == self._topic:
                size = len(batch.messages[0])
                publisher = publishers.get(size)
                if publisher is None:
                    # Further lengths share one entry: a publisher may vary its lengths.
                    key = size if len(publishers) < MAX_PUBLISHERS else OTHERS
                    publisher = publishers.setdefault(key, _Publisher())
                publisher.add(batch.times, batch.messages)
            yield batch

    @property
    def report(self) -> ClockReport:
        """Timing of the publisher with the most messages."""
        found = [publisher for publisher in self._publishers.values() if publisher.count]
        if not found:
            return ClockReport()
        return max(found, key=lambda one: one.count).report()


MAX_PUBLISHERS, OTHERS = 8, -1


class _Publisher:
    """Sums over the intervals between messages."""

    def __init__(self) -> None:
        self.count = 0
        self._times: list[tuple[int, int, int]] = []
        self._last: tuple[int, int] | None = None
        self._begin = self._end = 0
        self._longest: float | None = None
        self._sums = np.zeros(3)
        self._gaps = self._jumps = self._late = 0
        self._gap = self._jump = 0

    def add(self, times: list[int], messages: list[bytes]) -> None:
        """Adds messages of the same length with their recorded times [ns]."""
        if len(messages[0]) < STAMP.stop:
            return
        for time, data in zip(times, messages, strict=True):
            self._times.append((time, *ORDERS[data[1] & 1].unpack_from(data, STAMP.start)))
        self.count += len(messages)
        if len(self._times) >= BLOCK:
            self._sum_up()

    def report(self) -> ClockReport:
        """Returns the timing of the messages so far."""
        self._sum_up()
        count, total, squares = self._sums
        mean = total / count if count else 0.0
        return ClockReport(
            1.0 / mean if mean else 0.0,
            float(np.sqrt(max(squares / count - mean * mean, 0.0))) if count else 0.0,
            self._gaps,
            self._gap / NANOSECONDS,
            self._jumps,
            self._jump / NANOSECONDS,
            self._late,
            self._begin,
            self._end,
        )

    def _sum_up(self) -> None:
        if not self._times:
            return
        times = np.array(self._times, dtype=np.int64)
        self._times = []
        recorded, stamps = times[:, 0], times[:, 1] * NANOSECONDS + times[:, 2]
        first = self._last is None
        if self._last is None:
            self._begin, self._last = int(recorded[0]), (int(recorded[0]), int(stamps[0]))
        received = np.diff(recorded, prepend=self._last[0])
        steps = np.diff(stamps, prepend=self._last[1])
        self._last, self._end = (int(recorded[-1]), int(stamps[-1])), int(recorded[-1])
        if self._longest is None:
            forward = steps[steps > 0]
            period = float(np.median(forward)) if len(forward) else 0.0
            self._longest = max(GAP_PERIODS * period, GAP_TIME * NANOSECONDS)
        jumped = np.abs(steps - received) > JUMP_NS
        jumped &= (steps < -JUMP_NS) | (steps > self._longest)
        gap = (steps > self._longest) & ~jumped
        usual = steps[(steps > 0) & ~gap & ~jumped] / NANOSECONDS
        self._sums += len(usual), usual.sum(), (usual**2).sum()
        self._gaps += int(gap.sum())
        self._jumps += int(jumped.sum())
        self._late += int(((steps <= 0) & ~jumped).sum()) - first
        self._gap = max(self._gap, int(steps[gap].max(initial=0)))
        self._jump = max(self._jump, int(np.abs(steps[jumped]).max(initial=0)))
