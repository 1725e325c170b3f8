# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `accuracy`: error of every quantity on every robot, relative to Pinocchio.

Each URDF of example-robot-data is compared with a fixed and with a floating base, at random states.
Errors are relative to the largest entry of a quantity. A robot that cannot be compared is listed
with the reason. With ``--backend llvm`` the machine code of every used kernel is also compared with
its plain trace.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pinocchio_peer import REFERENCE_FRAMES, Array, PinocchioPeer
from benchmarks.records import Goal, Record
from benchmarks.robots import all_urdfs, robots_folder
from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, SingularError
from dynamics_ros.kernels import Kernel

LIMIT = 1e-9
"""Tolerance of double-precision algorithms, with a margin for ill-conditioned robots."""

DERIVATIVE_LIMIT = 1e-7
"""Tolerance of derivatives of forward dynamics, which multiply by M^-1 twice."""

MACHINE_CODE_LIMIT = 1e-12
"""Tolerance of machine code: the same operations, but a*b + c may be rounded once instead of
twice."""

FRAMES = 8
"""Number of frames of a robot whose Jacobians are compared; the poses of all frames are
compared."""


@dataclass(frozen=True)
class Outcome:
    """Result for one robot.

    Attributes:
        records: largest error of each quantity.
        problem: reason for missing records, which is not a failure.
    """

    records: list[Record]
    problem: str = ''


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Compare all robots; print a line for each, then a table of quantities."""
    states = 1 if options.quick else options.states
    records: list[Record] = []
    for path in all_urdfs():
        if options.robot not in str(path):
            continue
        for root in ('fixed', 'floating'):
            start = time.perf_counter()
            outcome = measure(path, root, options.backend, states)
            _print_robot(path, root, outcome, time.perf_counter() - start)
            yield from outcome.records
            records += outcome.records
    _print_quantities(records)


def compare(robot: Robot, peer: PinocchioPeer, seed: int) -> Iterator[tuple[str, float, float]]:
    """Quantity, error and tolerance at one random state."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    v, a, tau = rng.normal(size=(3, robot.nv))

    poses = dict(zip(robot.frame_names, robot.all_frames(q), strict=True))
    yield from _worst(
        'forward kinematics', ((poses[f], peer.forward_kinematics(q, f)) for f in peer.frames)
    )
    step = max(1, len(peer.frames) // FRAMES)
    frames = peer.frames[::-step][:FRAMES]
    for reference in REFERENCE_FRAMES:
        yield from _worst(
            f'Jacobian, {reference}',
            ((robot.jacobian(q, f, reference), peer.jacobian(q, f, reference)) for f in frames),
        )
        yield from _worst(
            f'Jacobian derivative, {reference}',
            (
                (
                    robot.jacobian_derivative(q, v, f, reference),
                    peer.jacobian_derivative(q, v, f, reference),
                )
                for f in frames
            ),
        )
    wrenches = {frame: rng.normal(size=6) for frame in frames[:2]}
    for name, arguments in {
        'inverse_dynamics': (q, v, a, wrenches),
        'gravity': (q,),
        'nonlinear_effects': (q, v),
        'coriolis': (q, v),
        'mass_matrix': (q,),
        'mass_matrix_inverse': (q,),
        'forward_dynamics': (q, v, tau),
        'kinetic_energy': (q, v),
        'potential_energy': (q,),
        'center_of_mass': (q,),
        'com_jacobian': (q,),
        'centroidal_momentum': (q, v),
        'centroidal_map': (q,),
        'inverse_dynamics_derivatives': (q, v, a),
        'forward_dynamics_derivatives': (q, v, tau),
        'regressor': (q, v, a),
    }.items():
        try:
            ours = getattr(robot, name)(*arguments)
        except SingularError as error:
            print(f'    {name.replace("_", " ")}: {error}')
            continue
        theirs = getattr(peer, name)(*arguments)
        pairs = zip(ours, theirs, strict=True) if type(ours) is tuple else [(ours, theirs)]
        limit = DERIVATIVE_LIMIT if name == 'forward_dynamics_derivatives' else LIMIT
        for _, worst, _ in _worst(name, pairs):
            yield name.replace('_', ' '), worst, limit


def compare_machine_code(robot: Robot, seed: int) -> Iterator[tuple[str, float, float]]:
    """Quantity, error relative to the plain trace, and tolerance of all used kernels."""
    rng = np.random.default_rng(seed)
    for key in robot.kernels:
        name, options = key[:-1].split('(', 1)
        kernel = robot.kernel(name, *(options.split(', ') if options else ()))
        arguments = [
            robot.random_configuration(rng) if x.name.startswith('q') else rng.normal(size=x.shape)
            for x in kernel.trace.inputs
        ]
        try:
            ours = kernel(*arguments)
        except SingularError:
            continue
        plain = Kernel(kernel.trace, 'python')(*arguments)
        flat, wanted = (
            np.concatenate([np.ravel(x) for x in (found if type(found) is tuple else (found,))])
            for found in (ours, plain)
        )
        if wanted.size:
            # Relative to the largest entry, even if it is small.
            scale = float(np.abs(wanted).max()) or 1.0
            error = float(np.abs(flat - wanted).max()) / scale
            yield f'{name.replace("_", " ")}, machine code', error, MACHINE_CODE_LIMIT


def _worst(name: str, pairs: Any) -> Iterator[tuple[str, float, float]]:
    errors = [_relative(ours, theirs) for ours, theirs in pairs]
    if errors:
        yield name, max(errors), LIMIT


def _relative(ours: Array, theirs: Array) -> float:
    if np.shape(ours) != np.shape(theirs):
        return math.inf
    if np.size(theirs) == 0:
        return 0.0
    scale = max(1.0, float(np.abs(theirs).max()))
    return float(np.abs(ours - theirs).max()) / scale


def measure(path: Path, root: str, backend: str, states: int) -> Outcome:
    """Compare one file."""
    text = path.read_text()
    try:
        robot = Robot.from_urdf(text, root, backend=backend)
    except DynamicsRosError as error:
        return Outcome([], f'refused: {error}')
    try:
        peer = PinocchioPeer(text, robot)
    except (ValueError, RuntimeError) as error:
        return Outcome([], f'Pinocchio: {error}')
    if robot.nv == 0:
        return Outcome([], 'nothing moves')
    worst: dict[str, tuple[float, float]] = {}
    for seed in range(states):
        figures = [*compare(robot, peer, seed)]
        if backend == 'llvm':
            figures += compare_machine_code(robot, seed)
        for quantity, *found in figures:
            worst[quantity] = max(worst.get(quantity, (0.0, found[1])), (found[0], found[1]))
    name = f'{path.relative_to(robots_folder())} {root}'
    return Outcome(
        [
            Record('accuracy', quantity, name, value, 'relative', goal=Goal(limit, of='value'))
            for quantity, (value, limit) in worst.items()
        ]
    )


def _print_robot(path: Path, root: str, outcome: Outcome, seconds: float) -> None:
    name = path.relative_to(robots_folder())
    if not outcome.records:
        print(f'{name!s:62} {root:8} {outcome.problem}', flush=True)
        return
    worst = max(outcome.records, key=lambda record: record.value / _limit(record))
    print(
        f'{name!s:62} {root:8} worst {worst.value:.1e} ({worst.case}) {seconds:6.1f} s', flush=True
    )


def _print_quantities(records: list[Record]) -> None:
    print(f'\n{"quantity":42} {"worst error":>11}  {"limit":>7}  robot')
    for case in dict.fromkeys(record.case for record in records):
        worst = max((x for x in records if x.case == case), key=lambda record: record.value)
        print(f'{case:42} {worst.value:11.1e}  {_limit(worst):7.0e}  {worst.robot}')


def _limit(record: Record) -> float:
    assert record.goal is not None
    return record.goal.limit
