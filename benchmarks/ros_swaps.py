# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Soak test at 1 kHz with repeated replacement of the robot: wrong outputs, losses, growth."""

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
"""Time after a new robot is in use, in which kernels for requests are still compiled [s]."""

FIRST = 60.0
"""Initial time that is excluded from growth [s]; at most half of the run."""

SAME = 1e-6
"""Tolerance of gravity torques, relative to one of the robots [Nm]."""

SOME = 10
"""Time over which the minimum of threads and files is taken [s]."""

GROWTH = 20.0
"""Largest growth of memory [MB]."""


@dataclass(frozen=True)
class Swaps:
    """A run with replaced robots.

    Attributes:
        measured: measurement of the joint states.
        sent: stamps of all states [ns].
        told: output of ``ros_swapper``, one object per robot.
        torques: (n, nv) received gravity torques.
    """

    measured: Measurement
    sent: Any
    told: Sequence[dict[str, int]]
    torques: Any

    def unanswered_outside(self) -> int:
        """Number of joint states without an answer that were sent outside of replacements."""
        missing = np.setdiff1d(self.sent, self.measured.stamps)
        for swap in self.told:
            during = (missing >= swap['asked']) & (missing <= swap['ready'] + AFTER * 1e9)
            missing = missing[~during]
        return len(missing)

    def wrong(self, bare: Any, per_load: Any) -> int:
        """Number of answers that are wrong for all robots.

        Args:
            bare: (nv) gravity torques without a load.
            per_load: (nv) gravity torques of a load of one kilogram.
        """
        loads = (self.torques - bare) @ per_load / (per_load @ per_load)
        numbers = np.clip(np.round(loads / LOAD), 0, len(self.told))
        expected = bare + LOAD * numbers[:, np.newaxis] * per_load
        return int(np.sum(np.abs(self.torques - expected).max(axis=1) > SAME))

    def records(self, robot: str, bare: Any, per_load: Any) -> Iterator[Record]:
        """Records of the run."""
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
            # The minimum over some seconds excludes files that are open for a short time.
            early, late = counts[first : first + SOME], counts[-SOME:]
            yield record(f'growth of {what}', min(late) - min(early), goal=none)


def soak(bench: Any, ours: Any, minutes: float, every: float) -> Iterator[Record]:
    """Replace the robot of running nodes repeatedly, and measure the states.

    Args:
        bench: measurements of a robot.
        ours: the nodes.
        minutes: duration [min].
        every: time between two replacements [s].
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
    """Gravity torques (nv) without a load, and those of a load of one kilogram."""
    from dynamics_ros import Robot

    bare = Robot.from_urdf(urdf, backend='python').gravity(q)
    loaded = Robot.from_urdf(described(urdf, frame, round(1.0 / LOAD)), backend='python')
    return bare, loaded.gravity(q) - bare
