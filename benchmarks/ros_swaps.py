# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states at 1 kHz while the robot is replaced again and again: what is wrong, what grows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.records import Goal, Record
from benchmarks.ros_meter import Measurement, start
from benchmarks.ros_swapper import LOAD, described

AFTER = 1.0
"""Seconds for which a swap goes on once the robot is in force: kernels for requests are made."""

FIRST = 60.0
"""Seconds that are not looked at for growth; half of a shorter run."""

SAME = 1e-6
"""Nm; how near torques have to be to those of one of the robots."""

SOME = 10
"""Seconds."""

GROWTH = 20.0
"""MB."""


@dataclass(frozen=True)
class Swaps:
    """A run with swaps.

    Attributes:
        measured: what became of the joint states.
        sent: stamps of all of them [ns].
        told: of the swapper, one object a swap.
        torques: (n, nv) gravity torques that were answered.
    """

    measured: Measurement
    sent: Any
    told: Sequence[dict[str, int]]
    torques: Any

    def unanswered_outside(self) -> int:
        """Joint states without an answer that were not sent during a swap."""
        missing = np.setdiff1d(self.sent, self.measured.stamps)
        for swap in self.told:
            during = (missing >= swap['asked']) & (missing <= swap['ready'] + AFTER * 1e9)
            missing = missing[~during]
        return len(missing)

    def wrong(self, bare: Any, per_load: Any) -> int:
        """Answers that are right for none of the robots.

        Args:
            bare: (nv) gravity torques without a load.
            per_load: (nv) those of a load of one kilogram.
        """
        loads = (self.torques - bare) @ per_load / (per_load @ per_load)
        numbers = np.clip(np.round(loads / LOAD), 0, len(self.told))
        expected = bare + LOAD * numbers[:, np.newaxis] * per_load
        return int(np.sum(np.abs(self.torques - expected).max(axis=1) > SAME))

    def records(self, robot: str, bare: Any, per_load: Any) -> Iterator[Record]:
        """All figures."""
        seconds = self.measured.seconds
        case, none = f'{len(self.told)} swaps in {seconds:.0f} s at 1 kHz', Goal(0.0, of='value')

        def record(what: str, value: float, unit: str = '', goal: Goal | None = None) -> Record:
            return Record('ros', f'{case}: {what}', robot, float(value), unit, goal=goal)

        ready = [1e-9 * (swap['ready'] - swap['asked']) for swap in self.told]
        yield record('wrong', self.wrong(bare, per_load), goal=none)
        yield record('not answered outside of swaps', self.unanswered_outside(), goal=none)
        yield record('not answered', self.measured.sent - self.measured.received)
        yield record('longest time to the next robot', max(ready, default=0.0), 's')
        first = int(min(FIRST, seconds / 2.0))
        memory = self.measured.memory
        growth = max(memory[-5:]) - max(memory[first - 5 : first])
        yield record('memory growth', growth, 'MB', Goal(GROWTH, of='value'))
        for what, counts in (
            ('threads', self.measured.threads),
            ('files', self.measured.files),
        ):
            # The fewest within some seconds: a file that is read or written meanwhile is none.
            early, late = counts[first : first + SOME], counts[-SOME:]
            yield record(f'growth of {what}', min(late) - min(early), goal=none)


def soak(bench: Any, ours: Any, minutes: float, every: float) -> Iterator[Record]:
    """Replace the robot of running nodes every so many seconds, and look what becomes of states.

    Args:
        bench: measures.
        ours: the nodes.
        minutes: how long.
        every: seconds between two swaps.
    """
    seconds = 60.0 * minutes if not bench.quick else 4.0 * every
    frame, count = bench.subject.contacts[0], max(int(seconds / every) - 1, 1)
    where = ('--ros-args', '-r', f'__ns:=/{ours.name}')
    arguments = (str(bench.urdf), frame, str(every), str(count), *where)
    swapper = start('ros_swapper', *arguments, piped=True)
    stamps = bench.urdf.with_suffix('.stamps')
    result = bench.counted(ours, seconds, stamps=stamps)
    output, _ = swapper.communicate(timeout=120.0)
    told = [json.loads(line) for line in output.splitlines() if line.startswith('{')]
    assert swapper.returncode == 0, 'the swapper has failed'
    torques = np.frombuffer(b''.join(result.ends)).reshape(len(result.ends), -1)
    found = Swaps(result, np.fromfile(stamps, dtype=np.int64)[-result.sent :], told, torques)
    yield from found.records(
        bench.subject.name, *expected(bench.subject.urdf, frame, bench.subject.posture())
    )


def expected(urdf: str, frame: str, q: Any) -> tuple[Any, Any]:
    """Gravity torques (nv) without a load, and of a load of one kilogram."""
    from dynamics_ros import Robot

    bare = Robot.from_urdf(urdf, backend='python').gravity(q)
    loaded = Robot.from_urdf(described(urdf, frame, round(1.0 / LOAD)), backend='python')
    return bare, loaded.gravity(q) - bare
