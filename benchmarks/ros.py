# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `ros`: our nodes on the real middleware, compared with an echo and a reference.

Three processes run at once, each in its own namespace, and are measured in turn: *ours*, all three
nodes composed with every output on; an *echo* without computation; a *reference* with Pinocchio.
Another process subscribes to the outputs and reads the last of them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.records import Goal, Record
from benchmarks.ros_bench import NOMINAL, Bench, Running
from benchmarks.ros_subjects import SUBJECTS, USUAL

RATES = (1000.0, 1500.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0, 8000.0, 10000.0)

DOMAIN = '89'
ROUNDS = 5
STARTS = 7

PARTS = ('cost', 'pushed', 'rates', 'services', 'changes', 'leaving', 'soak', 'start')
"""Names of the parts; all except cost and soak are measured for one robot only."""

STATUS = 'ours/dynamics_node: outputs'
TOLD = 'joint_states not answered, newer ones waited', 'joint_states lost on the way'
"""Keys in the diagnostics of our nodes for joint states without an answer."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure the selected parts of all robots."""
    from benchmarks.ros_meter import Meter

    os.environ.setdefault('ROS_DOMAIN_ID', DOMAIN)
    meter = Meter()
    try:
        for subject in SUBJECTS:
            if options.robot in subject.name:
                with tempfile.TemporaryDirectory() as folder:
                    yield from _figures(Bench(subject, meter, Path(folder), options.quick), options)
    finally:
        meter.close()


def _figures(bench: Bench, options: argparse.Namespace) -> Iterator[Record]:
    """Records of one robot."""
    usual = bench.subject is USUAL
    parts = [part for part in PARTS if part in (options.part or PARTS)]
    if not usual:
        parts = [part for part in parts if part in ('cost', 'soak')]
    if not parts:
        return
    with ExitStack() as stack:
        ours = stack.enter_context(bench.ours())
        others = []
        if {'cost', 'pushed', 'rates'} & set(parts):
            others.append(stack.enter_context(bench.echo()))
            if usual and 'pin' in options.peers:
                others.append(stack.enter_context(bench.reference()))
        of: dict[str, Callable[[], Iterator[Record]]] = {
            'cost': lambda: _cost(bench, ours, others),
            'pushed': lambda: _pushed(bench, ours, others[0]),
            'rates': lambda: _highest_rate(bench, ours, others),
            'services': lambda: _service(bench, ours),
            'changes': lambda: _changes(bench, ours),
            'leaving': lambda: _leaving(bench, ours),
            'soak': lambda: _soak(bench, ours, options.soak),
            'start': lambda: _start(bench),
        }
        for part in parts:
            yield from of[part]()


def _measurements(bench: Bench, processes: list[Running], **options: Any) -> dict[str, list[Any]]:
    """Measurements of processes in turn, at the nominal rate."""
    found: dict[str, list[Any]] = {one.name: [] for one in processes}
    for _ in range(1 if bench.quick else ROUNDS):
        for one in processes:
            found[one.name].append(bench.measured(one, NOMINAL, bench.seconds, **options))
    return found


def _medians(found: dict[str, list[Any]], figure: Callable[[Any], float]) -> dict[str, float]:
    return {name: statistics.median(map(figure, all_of)) for name, all_of in found.items()}


def _cost(bench: Bench, ours: Running, others: list[Running]) -> Iterator[Record]:
    found = _measurements(bench, [ours, *others])
    cost = _medians(found, lambda one: one.cost)
    p50 = _medians(found, lambda one: one.percentile(50.0))
    p99 = _medians(found, lambda one: one.percentile(99.0))
    usual = bench.subject is USUAL
    limits = {'echo': Goal(bench.subject.limit), 'reference': Goal(0.4)}
    for case, values, goals in (
        ('CPU a message at 1 kHz', cost, limits),
        ('round trip p50 at 1 kHz', p50, {'echo': Goal(1.2)} if usual else {}),
        ('round trip p99 at 1 kHz', p99, {'echo': Goal(1.3)}),
    ):
        for one in others:
            peer = one.name, values[one.name]
            yield bench.record(case, values['ours'], 'us', *peer, goal=goals.get(one.name))
    if usual:
        limit = Goal(1000.0, of='value')
        yield bench.record('round trip p99 at 1 kHz', p99['ours'], 'us', goal=limit)


def _pushed(bench: Bench, ours: Running, echo: Running) -> Iterator[Record]:
    cost = _medians(_measurements(bench, [ours, echo], pushed=True), lambda one: one.cost)
    case, peer = 'CPU a message at 1 kHz, in contact', (echo.name, cost[echo.name])
    yield bench.record(case, cost['ours'], 'us', *peer, goal=Goal(bench.subject.limit))


def _highest_rate(bench: Bench, ours: Running, others: list[Running]) -> Iterator[Record]:
    held: dict[str, float] = {}
    for one in (ours, *others):
        held[one.name] = 0.0
        for rate in RATES:
            # A second attempt, because a stall of the machine is not a limit of the process.
            if not any(bench.holds(one, rate) for _ in range(2)):
                break
            held[one.name] = rate
    case, least = 'highest rate held', Goal(5000.0, of='value', at_least=True)
    yield bench.record(case, held['ours'], 'Hz', goal=least)
    for one in others:
        goal = Goal(2.0, at_least=True) if one.name == 'reference' else None
        yield bench.record(case, held['ours'], 'Hz', one.name, held[one.name], goal=goal)


def _service(bench: Bench, ours: Running) -> Iterator[Record]:
    round_trips, _ = bench.called(ours, alone=False)
    empty = round_trips.pop('empty')
    for name, value in round_trips.items():
        case, peer = f'{name.replace("_", " ")} p50 beside 1 kHz', ('empty service', empty)
        yield bench.record(case, value, 'us', *peer, goal=Goal(2.2))
    value, library = bench.called(ours, alone=True)[1]['inverse_kinematics'], bench.searched()
    case, goal = 'callback of inverse kinematics', Goal(4.0 * library + 100.0, of='value')
    yield bench.record(case, value, 'us', 'library call', library, goal=goal)


def _changes(bench: Bench, ours: Running) -> Iterator[Record]:
    for what, taken in bench.changed_beside(ours).items():
        case, goal = f'change of {what} in force beside 1 kHz', Goal(20.0, of='value')
        yield bench.record(f'{case}, median', statistics.median(taken), 'ms', goal=goal)
        yield bench.record(f'{case}, longest', max(taken), 'ms')


def _leaving(bench: Bench, ours: Running) -> Iterator[Record]:
    """Gaps caused by clients that leave, beyond those of the machine with as many that stay."""
    stay, leave = (bench.longest_beside(ours, how) for how in ('stay', 'leave'))
    case, peer = 'longest round trip beside clients that leave', ('clients that stay', stay)
    yield bench.record(case, leave, 'ms', *peer)
    goal = Goal(10.0, of='value')
    yield bench.record('the same, beyond clients that stay', leave - stay, 'ms', goal=goal)


def _soak(bench: Bench, ours: Running, minutes: float) -> Iterator[Record]:
    seconds = 60.0 * minutes if not bench.quick else 6.0
    before = bench.meter.told(STATUS, TOLD)
    result = bench.counted(ours, seconds)
    case = f'{minutes:g} min at 1 kHz' if not bench.quick else 'some s at 1 kHz'
    missing = max(float(result.sent - result.received), 0.0)
    yield bench.record(f'{case}: not answered', missing, goal=Goal(0.0, of='value'))
    after = bench.meter.told(STATUS, TOLD)
    for what, count, earlier in zip(TOLD, after, before, strict=True):
        yield bench.record(f'{case}: {what}', count - earlier)
    memory = result.memory
    settled = memory[min(60, len(memory) // 2)]
    growth = max(memory[-5:]) - settled
    yield bench.record(f'{case}: memory growth', growth, 'MB', goal=Goal(1.0, of='value'))


def _start(bench: Bench) -> Iterator[Record]:
    taken = [bench.start_to_first_output(i) for i in range(1 if bench.quick else STARTS)]
    goal = Goal(1.5, of='value')
    yield bench.record('start to first output', statistics.median(taken), 's', goal=goal)
