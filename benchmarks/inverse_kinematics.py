# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `ik`: success and time of inverse kinematics on the same targets as the peers.

This module has the part `numeric`; the others are in `ik_branches`, `ik_unreachable` and
`ik_collisions`. Targets are poses of uniform samples within the limits, so each has a solution.
Every solver starts at the middle of the limits, has 5 ms, and runs in its own process; the
processes take turns over blocks of targets. Pinocchio checks the answers: within 1e-5 m and
1e-5 rad, inside the limits, within the time. Failures count in the times.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks import ik_branches, ik_collisions, ik_unreachable
from benchmarks.descriptions import serial_chain
from benchmarks.ik_processes import OURS, in_turns, write_problem
from benchmarks.peers import peer_python
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.records import Goal, Record
from benchmarks.robots import ARMS, Arm, urdf_path
from dynamics_ros import Robot

Array = NDArray[np.float64]

SUITE = 'ik'
PEERS = ('optik-py', 'roboticstoolbox-python', 'pytracik', 'ssik')
TIMEOUT = 0.005
TOLERANCE = 1e-5
POSE_ROUNDING = 1e-9
"""Tolerance of the check by other formulas [m and rad]."""

LIMIT_ROUNDING = 1e-6
"""Tolerance of limits, because TRAC-IK has them in single precision [rad and m]."""

SUCCESS = Goal(99.99, of='value', at_least=True)
MEAN = Goal(0.5, 0.25)
P99 = {'panda': Goal(300.0, of='value'), 'ur5': Goal(150.0, of='value')}
ANALYTIC = 'ssik'
"""The analytic peer; the goal of the mean is relative to the best numeric peer."""


@dataclass(frozen=True)
class Answers:
    """Success (bool) and time [us] of a solver for each target."""

    success: NDArray[np.bool_]
    micros: Array

    @property
    def mean(self) -> float:
        """Mean time of a target, including failures [us]."""
        return float(self.micros.mean())


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure the selected parts on the selected robots."""
    for name, part in PARTS.items():
        if name in (set(options.part or ()) & set(PARTS) or PARTS):
            yield from part(options)


def _numeric(options: argparse.Namespace) -> Iterator[Record]:
    count = 100 if options.quick else options.targets
    pythons = {OURS: Path(sys.executable)}
    for name in PEERS:
        if name in options.peers and (python := peer_python(name)):
            pythons[name] = python
    for arm in ARMS:
        if options.robot in arm.name:
            yield from _records(arm, measure(arm, count, pythons))


def measure(arm: Arm, count: int, pythons: dict[str, Path]) -> dict[str, Answers]:
    """Answers of every solver; a solver that cannot be started is skipped with the reason."""
    text = serial_chain(urdf_path(arm.file), arm.base, arm.tip)
    robot = Robot.from_urdf(text)
    rng = np.random.default_rng(0)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    targets = robot.forward_kinematics(q, arm.tip)
    lower, upper = robot.lower_limits, robot.upper_limits
    bounded = np.isfinite(lower) & np.isfinite(upper)
    seed = np.zeros(robot.nq)
    seed[bounded] = 0.5 * (lower[bounded] + upper[bounded])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_problem(
            folder,
            text,
            robot,
            arm,
            targets=targets,
            seed=seed,
            timeout=TIMEOUT,
            tolerance=TOLERANCE,
        )
        rows = in_turns(folder, pythons, count, arm.name)
    checker = PinocchioPeer(text, robot)
    return {solver: _checked(found, targets, checker, arm.tip) for solver, found in rows.items()}


def _checked(rows: Array, targets: Array, checker: PinocchioPeer, tip: str) -> Answers:
    lower = checker.robot.lower_limits - LIMIT_ROUNDING
    upper = checker.robot.upper_limits + LIMIT_ROUNDING
    success = np.zeros(len(rows), dtype=bool)
    for i, (row, target) in enumerate(zip(rows, targets, strict=True)):
        q = row[2:]
        # The smaller of both times: a process may have to wait, and a solver may have two threads.
        seconds = min(row[0], row[1])
        if not np.isfinite(q).all() or seconds > TIMEOUT:
            continue
        pose = checker.forward_kinematics(q, tip)
        position = np.linalg.norm(pose[:3, 3] - target[:3, 3])
        rotation = np.linalg.norm(pin.log3(target[:3, :3].T @ pose[:3, :3]))
        inside = (lower <= q) & (q <= upper)
        success[i] = max(position, rotation) <= TOLERANCE + POSE_ROUNDING and inside.all()
    return Answers(success, 1e6 * rows[:, 0])


def _records(arm: Arm, answers: dict[str, Answers]) -> Iterator[Record]:
    if OURS not in answers:
        return
    ours = answers.pop(OURS)
    numeric = [name for name in answers if name != ANALYTIC]
    best = min(numeric, key=lambda name: answers[name].mean, default=None)
    for case, figure, unit, goal in (
        ('success', lambda x: 100.0 * float(x.success.mean()), '%', SUCCESS),
        ('mean', lambda x: x.mean, 'us', None),
        ('median', lambda x: float(np.median(x.micros)), 'us', None),
        ('p99', lambda x: float(np.percentile(x.micros, 99.0)), 'us', P99.get(arm.name)),
    ):
        value = figure(ours)
        if goal is not None:
            yield Record(SUITE, case, arm.name, value, unit, goal=goal)
        for peer, theirs in answers.items():
            against = MEAN if case in ('mean', 'median') and peer == best else None
            yield Record(SUITE, case, arm.name, value, unit, peer, figure(theirs), against)
        if goal is None and not answers:
            yield Record(SUITE, case, arm.name, value, unit)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Record]]] = {
    'numeric': _numeric,
    'analytic': ik_branches.run,
    'unreachable': ik_unreachable.run,
    'collisions': ik_collisions.run,
}
