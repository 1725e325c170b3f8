"""The error of every quantity on every robot against Pinocchio, as a table.

Each URDF of example-robot-data, with a fixed and with a floating base, at random states. An error
is relative to the largest entry of the quantity. A robot that cannot be compared is listed with
the reason.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pinocchio_peer import REFERENCE_FRAMES, Array, PinocchioPeer
from benchmarks.robots import all_urdfs, robots_folder
from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError, SingularError

LIMIT = 1e-9
"""Two double-precision algorithms agree to rounding; 1e-9 leaves room for ill conditioning."""

DERIVATIVE_LIMIT = 1e-7
"""Derivatives of forward dynamics multiply by M^-1 twice: rounding grows with its condition."""

FRAMES = 8
"""Frames of a robot whose Jacobians are compared, spread over the list; poses are all compared."""


@dataclass(frozen=True)
class Record:
    """One row: the worst error of a quantity on a robot, or why there is none."""

    robot: str
    root: str
    quantity: str
    error: float
    limit: float
    problem: str = ''

    @property
    def holds(self) -> bool:
        """Whether the error is within the limit; a documented refusal is no failure."""
        return bool(self.problem) or self.error <= self.limit


def compare(robot: Robot, peer: PinocchioPeer, seed: int) -> Iterator[tuple[str, float, float]]:
    """Quantity, error and limit at one random state."""
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
        for _, error, _ in _worst(name, pairs):
            yield name.replace('_', ' '), error, limit


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


def measure(path: Path, root: str, backend: str, states: int) -> list[Record]:
    """All records of one file."""
    name = str(path.relative_to(robots_folder()))
    text = path.read_text()
    try:
        robot = Robot.from_urdf(text, root, backend=backend)
    except DynamicsRosError as error:
        return [Record(name, root, 'load', math.nan, LIMIT, f'refused: {error}')]
    try:
        peer = PinocchioPeer(text, robot)
    except (ValueError, RuntimeError) as error:
        return [Record(name, root, 'load', math.nan, LIMIT, f'Pinocchio: {error}')]
    if robot.nv == 0:
        return [Record(name, root, 'load', math.nan, LIMIT, 'nothing moves')]
    worst: dict[str, tuple[float, float]] = {}
    for seed in range(states):
        for quantity, error, limit in compare(robot, peer, seed):
            worst[quantity] = max(worst.get(quantity, (0.0, limit)), (error, limit))
    return [Record(name, root, quantity, *pair) for quantity, pair in worst.items()]


def main() -> int:
    """Print the table; 1 when an error is beyond its limit."""
    parser = argparse.ArgumentParser(prog='scripts/bench accuracy', description=__doc__)
    parser.add_argument('--backend', default='python', choices=('python', 'llvm'))
    parser.add_argument('--states', type=int, default=2, help='random states of each robot')
    parser.add_argument('--robot', default='', help='only files whose path contains this')
    parser.add_argument('--json', type=Path, help='write the records to this file')
    arguments = parser.parse_args()
    logging.getLogger('dynamics_ros').setLevel(logging.ERROR)

    records: list[Record] = []
    for path in all_urdfs():
        if arguments.robot not in str(path):
            continue
        for root in ('fixed', 'floating'):
            start = time.perf_counter()
            found = measure(path, root, arguments.backend, arguments.states)
            records += found
            _print_robot(found, time.perf_counter() - start)
    _print_quantities(records)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(record) for record in records], indent=1))
    failed = [record for record in records if not record.holds]
    for record in failed:
        print(f'FAILED {record.robot} {record.root} {record.quantity}: {record.error:.1e}')
    return 1 if failed else 0


def _print_robot(records: list[Record], seconds: float) -> None:
    first = records[0]
    if first.problem:
        print(f'{first.robot:62} {first.root:8} {first.problem}', flush=True)
        return
    worst = max(records, key=lambda record: record.error / record.limit)
    print(
        f'{first.robot:62} {first.root:8} worst {worst.error:.1e} ({worst.quantity})'
        f' {seconds:6.1f} s',
        flush=True,
    )


def _print_quantities(records: list[Record]) -> None:
    print(f'\n{"quantity":42} {"worst error":>11}  {"limit":>7}  robot')
    for quantity in dict.fromkeys(record.quantity for record in records if not record.problem):
        worst = max((r for r in records if r.quantity == quantity), key=lambda r: r.error)
        print(f'{quantity:42} {worst.error:11.1e}  {worst.limit:7.0e}  {worst.robot} {worst.root}')


if __name__ == '__main__':
    sys.exit(main())
