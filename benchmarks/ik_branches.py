# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `ik`, part `analytic`: all solutions, compared with those of EAIK and of a long search.

Targets are poses of uniform samples within the limits of an arm, whose seventh joint, if any, is
locked. EAIK does not use limits. Its solutions are checked by Pinocchio and moved within the limits
by full turns; those that are missing among ours count as lost.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from benchmarks.descriptions import serial_chain
from benchmarks.ik_processes import OURS_ALL, in_turns, write_problem
from benchmarks.peers import peer_python
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.records import Goal, Record
from benchmarks.robots import ARMS, Arm, urdf_path
from dynamics_ros import Robot

Array = NDArray[np.float64]

LOCKED = {'ur5': None, 'ur10': None, 'kinova': None, 'panda': 6}
"""Arms that EAIK can solve, and the index of the locked joint."""

MAX_SOLUTIONS = 16
"""Largest number of returned solutions, more than any of these arms has."""

POSE_TOLERANCE = 1e-5
"""Largest error of a peer's solution [m and rad]."""

SAME_TOLERANCE = 1e-3
"""Joint distance up to which solutions are equal [rad]; both have errors within the tolerance."""

SEARCHED = 50
"""Number of targets of each arm for the long search."""

RESTARTS = 200
FINE = 1e-9
"""Tolerance of the search [m and rad]. Near a singular configuration, a coarser one has solutions
everywhere along a line."""

NONE_LOST = Goal(0.0, of='value')
TIME = Goal(2.0)
"""Goal of the time for arms of six joints."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Measure the selected arms."""
    count = 100 if options.quick else options.targets
    pythons = {OURS_ALL: Path(sys.executable)}
    if 'eaik' in options.peers and (python := peer_python('eaik')):
        pythons['eaik'] = python
    for arm in ARMS:
        if arm.name in LOCKED and options.robot in arm.name:
            searched = 5 if options.quick else SEARCHED
            yield from _measured(arm, LOCKED[arm.name], count, searched, pythons)


def _measured(
    arm: Arm, locked: int | None, count: int, searched: int, pythons: dict[str, Path]
) -> Iterator[Record]:
    text = serial_chain(urdf_path(arm.file), arm.base, arm.tip)
    robot = Robot.from_urdf(text)
    rng = np.random.default_rng(0)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    seed, rest = robot.neutral(), np.zeros(robot.nq)
    if locked is not None:
        q[:, locked] = seed[locked] = rest[locked] = q[0, locked]
    targets = robot.forward_kinematics(q, arm.tip)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_problem(
            folder,
            text,
            robot,
            arm,
            targets=targets,
            seed=seed,
            timeout=1.0,
            tolerance=POSE_TOLERANCE,
            home=robot.forward_kinematics(rest, arm.tip),
            locked=-1 if locked is None else locked,
            most=MAX_SOLUTIONS,
        )
        rows = in_turns(folder, pythons, count, arm.name)
    if OURS_ALL not in rows:
        return
    ours = _solutions(rows[OURS_ALL], robot.nq)
    lost = sum(_nearest(found, x) > SAME_TOLERANCE for found, x in zip(ours, q, strict=True))
    yield _record('targets whose own q is lost', arm, lost, '')
    yield Record('ik', 'branches a target', arm.name, float(np.mean(list(map(len, ours)))), '')
    micros = 1e6 * rows[OURS_ALL][:, 0]
    if 'eaik' in rows:
        checker = PinocchioPeer(text, robot)
        theirs = [
            _valid_solutions(found, target, checker, arm.tip, robot)
            for found, target in zip(_solutions(rows['eaik'], robot.nq), targets, strict=True)
        ]
        lost = sum(
            _nearest(a, x) > SAME_TOLERANCE for a, b in zip(ours, theirs, strict=True) for x in b
        )
        yield _record('branches of eaik that are lost', arm, lost, '')
        missed = sum(
            _nearest(b, x) > SAME_TOLERANCE for a, b in zip(ours, theirs, strict=True) for x in a
        )
        yield Record('ik', 'branches that eaik has lost', arm.name, float(missed), '')
        peers = 1e6 * rows['eaik'][:, 0]
        for case, figure in (('mean', np.mean), ('median', np.median)):
            value, peer = float(figure(micros)), float(figure(peers))
            goal = TIME if locked is None else None
            yield Record('ik', f'all branches, {case}', arm.name, value, 'us', 'eaik', peer, goal)
    else:
        yield Record('ik', 'all branches, mean', arm.name, float(np.mean(micros)), 'us')
    lost = 0
    names = [] if locked is None else [robot.joint_names[locked]]
    for found, target in zip(ours[:searched], targets[:searched], strict=True):
        # With a posture the closed form is not used, so this is a numerical search.
        others = robot.all_inverse_kinematics(
            target,
            arm.tip,
            seed,
            locked_joints=names,
            posture='seed',
            position_tolerance=FINE,
            rotation_tolerance=FINE,
            timeout=10.0,
            max_restarts=RESTARTS,
            max_solutions=MAX_SOLUTIONS,
        )
        lost += sum(_nearest(found, x) > SAME_TOLERANCE for x in others.q)
    yield _record('branches of a search that are lost', arm, lost, '')


def _record(case: str, arm: Arm, value: float, unit: str) -> Record:
    return Record('ik', case, arm.name, float(value), unit, goal=NONE_LOST)


def _solutions(rows: Array, nq: int) -> list[Array]:
    """Solutions in each row of a worker."""
    answers = rows[:, 2:].reshape(len(rows), -1, nq)
    return [answer[np.isfinite(answer).all(axis=1)] for answer in answers]


def _nearest(found: Array, q: Array) -> float:
    """Distance to the nearest solution in its worst joint, modulo full turns [rad]."""
    turned = np.abs(np.angle(np.exp(1j * (found - q))))
    return float(turned.max(axis=1).min(initial=np.inf))


def _valid_solutions(
    found: Array, target: Array, checker: PinocchioPeer, tip: str, robot: Robot
) -> Array:
    """Solutions that reach the target and that full turns move within the limits."""
    kept = []
    for q in found:
        pose = checker.forward_kinematics(q, tip)
        off = max(
            np.linalg.norm(pose[:3, 3] - target[:3, 3]),
            np.linalg.norm(pin.log3(target[:3, :3].T @ pose[:3, :3])),
        )
        turns = np.ceil((robot.lower_limits - q) / (2.0 * np.pi))
        turned = np.where(np.isfinite(turns), q + 2.0 * np.pi * turns, q)
        if off <= POSE_TOLERANCE and np.all(turned <= robot.upper_limits):
            kept.append(q)
    return np.array(kept).reshape(len(kept), robot.nq)
