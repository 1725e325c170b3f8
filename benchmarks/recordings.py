# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `recordings`: speed, memory, and detection of worn robots in a simulated fleet."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recordings_fleet import (
    BEGIN,
    DAY,
    FORMATS,
    FleetRobot,
    Push,
    Recorded,
    bag_path,
    record,
)
from benchmarks.records import Goal, Record
from benchmarks.timing import peak_memory
from dynamics_ros.fleet.analysis import OK, Task, analyze, analyze_all
from dynamics_ros.fleet.report import findings
from dynamics_ros.fleet.results import Bag, find_bags
from dynamics_ros.recordings.bag import Recording

SUITE = 'recordings'
ROBOT = 'seven_joint_arm'

WORN = {3: {1: 1.3}, 11: {4: 1.3}}
"""Number of a robot to its joint indices with their friction factors."""

RATE = 250.0
"""Rate of the joint states in a bag of the fleet [Hz]."""

ROBOTS, BAGS, SECONDS = 20, 200, 20.0
"""Robots of the simulated fleet, bags of all of them together, duration of a bag [s]."""

LONG_RATE, LONG, LONG_QUICKLY = 1000.0, 3600.0, 60.0
"""Rate [Hz] and durations [s] of the bag for the memory measurement."""

MEMORY = 'from benchmarks.recordings import main; main()'


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure the selected parts."""
    wanted = set(options.part or ('rate', 'workers', 'memory', 'worn'))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if 'rate' in wanted:
            yield from _rates(place, options)
        if 'memory' in wanted:
            yield from _memory(place, options)
        if wanted & {'workers', 'worn'}:
            yield from _fleet(place, options, wanted)


def _figure(case: str, value: float, unit: str, goal: Goal | None = None, **more: Any) -> Record:
    return Record(SUITE, case, ROBOT, value, unit, goal=goal, **more)


def _rates(place: Path, options: argparse.Namespace) -> Iterator[Record]:
    """Joint states per second of one core, from the file to estimates, by format."""
    robot = FleetRobot.of()
    seconds = 20.0 if options.quick else 120.0
    for kind in FORMATS:
        path = bag_path(place / 'rate', kind, kind)
        record(robot, Recorded(path, kind, seconds, LONG_RATE))
        bag, task = Bag('rate', kind, path), Task(output=place / 'out')
        analyze(task, bag)  # compiles the kernels
        start = time.process_time()
        summary = analyze(task, bag)
        ours = summary['messages'] / (time.process_time() - start)
        start = time.process_time()
        with Recording(path) as recording:
            count = sum(1 for _ in recording.decoded(['/joint_states']))
        alone = count / (time.process_time() - start)
        yield _figure(
            f'joint states to estimates, {kind}',
            ours,
            '1/s',
            Goal(50_000.0, of='value', at_least=True),
            peer='rosbags, deserialising alone',
            peer_value=alone,
        )


def _memory(place: Path, options: argparse.Namespace) -> Iterator[Record]:
    """Peak memory of a process that analyzes a long bag, by format."""
    robot = FleetRobot.of()
    seconds = LONG_QUICKLY if options.quick else LONG
    for kind in FORMATS:
        path = bag_path(place / 'memory', kind, kind)
        record(robot, Recorded(path, kind, seconds, LONG_RATE))
        done = subprocess.run(
            [sys.executable, '-c', MEMORY, str(path), str(place / 'memory-out')],
            capture_output=True,
            text=True,
            check=True,
        )
        yield _figure(
            f'memory, {seconds:.0f} s at 1 kHz, {kind}',
            float(done.stdout.split()[-1]),
            'MB',
            # Of ROS 1, rosbags holds the index of all messages.
            None if kind == 'ros1' else Goal(300.0, of='value'),
        )


def main() -> None:
    """Analyze a bag in this process and print the peak memory [MB]."""
    summary = analyze(Task(output=Path(sys.argv[2])), Bag('memory', 'bag', Path(sys.argv[1])))
    assert summary['status'] == OK, summary['reason']
    print(peak_memory())


def _fleet(place: Path, options: argparse.Namespace, wanted: set[str]) -> Iterator[Record]:
    """Analyze a fleet with one and with two workers; two robots have more friction."""
    robots, bags = (6, 24) if options.quick else (ROBOTS, BAGS)
    start = time.perf_counter()
    record_fleet(place / 'fleet', robots, bags)
    yield _figure(f'{bags} bags are made', time.perf_counter() - start, 's')
    found = find_bags([str(place / 'fleet')])
    summaries, taken = _timed(place / 'two', found, 2)
    yield _figure(f'{len(found)} bags, 2 workers', taken, 's')
    if 'worn' in wanted:
        expected = {f'robot{k:02d}' for k in WORN if k < robots}
        named = {one.robot for one in findings(summaries) if one.kind == 'like robots'}
        missed = len(expected - named)
        yield _figure('worn robots that are missed', float(missed), 'robots', Goal(0.0, of='value'))
        yield _figure(
            'sound robots that are named',
            float(len(named - expected)),
            'robots',
            Goal(0.0, of='value'),
        )
        bad = sum(row['status'] != OK for row in summaries)
        yield _figure('bags that failed', float(bad), 'bags', Goal(0.0, of='value'))
    if 'workers' in wanted:
        some = found[: max(8, len(found) // 4)]
        one, alone = _timed(place / 'one', some, 1)
        both, together = _timed(place / 'both', some, 2)
        goal = Goal(1.8, of='value', at_least=True)
        yield _figure('2 workers over 1', alone / together, 'times', goal)
        eight, _ = _timed(place / 'eight', some[::-1], 8)
        worst = max(_difference(one, other) for other in (both, eight))
        yield _figure('results of 1, 2 and 8 workers', worst, '', Goal(1e-12, of='value'))


def record_fleet(folder: Path, robots: int, bags: int) -> None:
    """Record bags in all formats in turn, some with a push."""
    for k in range(robots):
        robot = FleetRobot.of(WORN.get(k))
        for n in range(k, bags, robots):
            kind, day = FORMATS[n % len(FORMATS)], n // robots
            path = bag_path(folder / f'robot{k:02d}', f'day{day:03d}', kind)
            pushes = (Push('tool0', 5.0, 5.5, (0.0, 15.0, 0.0)),) if n % 4 == 0 else ()
            begin = BEGIN + 30 * day * DAY
            record(robot, Recorded(path, kind, SECONDS, RATE, begin, n, pushes))


def _timed(output: Path, bags: Sequence[Bag], count: int) -> tuple[list[dict[str, Any]], float]:
    task = Task(output=output)
    with ProcessPoolExecutor(count, get_context('spawn')) as pool:
        # Start, imports and compilation of workers are not timed.
        list(analyze_all(task, [*bags[: 2 * count]], executor=pool))
        start = time.perf_counter()
        found = list(analyze_all(task, bags, executor=pool))
        return found, time.perf_counter() - start


def _difference(ours: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> float:
    """Largest relative difference of the results."""
    other = {(row['robot'], row['bag']): row for row in theirs}
    worst = 0.0
    for row in ours:
        for key in ('friction', 'viscous', 'coulomb', 'residual_rms', 'rate'):
            a = np.atleast_1d(row[key])
            b = np.atleast_1d(other[row['robot'], row['bag']][key])
            worst = max(worst, float(np.max(np.abs(a - b) / np.maximum(np.abs(a), 1e-9))))
    return worst
