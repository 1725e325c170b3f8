# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Analytic recursions compared with automatic derivatives of traces: operations and time.

The package uses the better one. A sweep differentiates the simplest function that has the quantity
as its derivative, in the mode with the fewest operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.descriptions import bare
from benchmarks.records import Record
from benchmarks.robots import Subject, urdf_path
from benchmarks.timing import Effort, interleaved
from dynamics_ros import Robot
from dynamics_ros.algorithms.configuration import rate_map
from dynamics_ros.algorithms.energy import center_of_mass, kinetic_energy, potential_energy
from dynamics_ros.algorithms.forward_dynamics import forward_dynamics
from dynamics_ros.algorithms.inverse_dynamics import inverse_dynamics
from dynamics_ros.algorithms.jacobian import jacobian_columns
from dynamics_ros.kernels import Kernel, Trace, jacobian, trace
from dynamics_ros.kernels.autodiff import MODES
from dynamics_ros.model import Model
from dynamics_ros.model.joints import Floating
from dynamics_ros.spatial import (
    Force,
    Matrix3,
    Motion,
    Scalar,
    Vector3,
)

REFERENCE = 'local_world_aligned'

TIMED = 150_000
"""Number of operations above which a sweep is counted but not timed, because it compiles too
long."""

AGREEMENT = 1e-9
"""Relative tolerance: both divide by the mass matrix in different orders."""

Values = Sequence[Scalar]


def run(subjects: Sequence[Subject], effort: Effort) -> Iterator[Record]:
    """Operations and time of quantities that are derivatives of other quantities."""
    for subject in subjects:
        robot = Robot.from_urdf(bare(urdf_path(subject.name), subject.locked), subject.root)
        rng = np.random.default_rng(0)
        state = {'q': robot.random_configuration(rng)}
        state |= {name: rng.normal(size=robot.nv) for name in ('v', 'a', 'tau')}
        state['pi'] = np.zeros(10 * len(robot.model.joints))
        for case, (framed, function) in SWEEPS.items():
            ours = robot.kernel(case, *((subject.frame, REFERENCE) if framed else ()))
            inputs = {x.name: x.shape for x in ours.trace.inputs}
            swept = _smallest_trace(partial(function, robot.model, subject.frame), inputs, case)
            counts = float(ours.operation_count), float(swept.operation_count)
            record = Record('dynamics', f'{case}, ops', subject.name, counts[0], 'ops')
            yield replace(record, peer='sweep', peer_value=counts[1])
            if max(counts) > TIMED:
                continue
            ours.wait()
            names = {'ours': ours.call, 'sweep': Kernel(swept, wait=True).call}
            names |= {'x': [state[name] for name in inputs]}
            _agree(case, subject, ours(*names['x']), names['sweep'](*names['x']))
            seconds = interleaved({x: f'{x}(*x)' for x in ('ours', 'sweep')}, names, effort)
            record = Record('dynamics', case, subject.name, 1e6 * seconds['ours'], 'us')
            yield replace(record, peer='sweep', peer_value=1e6 * seconds['sweep'])


def _smallest_trace(function: Callable[..., Any], inputs: Mapping[str, Any], name: str) -> Trace:
    """The trace in the mode with the fewest operations."""
    made = [trace(partial(function, mode), inputs, name) for mode in MODES]
    return min(made, key=lambda x: x.operation_count)


def _agree(case: str, subject: Subject, ours: Any, swept: Any) -> None:
    """End the program if a sweep computes something else."""
    for x, y in zip(*[x if isinstance(x, tuple) else (x,) for x in (ours, swept)], strict=True):
        error = float(np.abs(x.ravel() - y.ravel()).max()) / max(1.0, float(np.abs(x).max()))
        if not error <= AGREEMENT:
            raise SystemExit(f'{case} of {subject.name}: a sweep is off by {error:.1e}')


class LinearInertia:
    """An inertia by its ten parameters, in which its forces are linear."""

    def __init__(self, parameters: Values) -> None:
        self.mass, *rest = parameters
        self.moment = Vector3(*rest[:3])
        xx, xy, yy, xz, yz, zz = rest[3:]
        self.about_origin = Matrix3(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))

    def __matmul__(self, motion: Motion) -> Force:
        v, w, h = motion.linear, motion.angular, self.moment
        return Force(v * self.mass + w.cross(h), h.cross(v) + self.about_origin @ w)

    def bias_force(self, motion: Motion) -> Force:
        """Bias force v x* Y v."""
        return motion.cross(self @ motion)


def _new_symbols(q: Values, count: int) -> list[Scalar]:
    """New symbols of the trace, of which the results must be independent."""
    return [q[0].graph.symbol() for _ in range(count)]


def _along(model: Model, ys: Values, q: Values, mode: str) -> list[list[Scalar]]:
    return jacobian(ys, q, mode, rate_map(model, q))


def _gravity(model: Model, frame: str, mode: str, q: Values) -> Any:
    return _along(model, [potential_energy(model, q)], q, mode)[0]


def _momentum(model: Model, frame: str, mode: str, q: Values, v: Values) -> Any:
    lagrangian = kinetic_energy(model, q, v) - potential_energy(model, q)
    p = jacobian([lagrangian], v, 'reverse')[0]
    beta = _along(model, [lagrangian], q, mode)[0]
    for joint in model.joints:
        if isinstance(joint.kind, Floating):  # the velocities of a floating base do not commute
            turned = joint.motion(q, v).cross(Force.of([p[k] for k in joint.v_indices]))
            for k, S in joint.subspace(q):
                beta[k] = beta[k] - S.dot(turned)
    return {'p': p, 'beta': beta}


def _mass_matrix(model: Model, frame: str, mode: str, q: Values) -> Any:
    v = _new_symbols(q, model.nv)
    return jacobian(jacobian([kinetic_energy(model, q, v)], v, 'reverse')[0], v, mode)


def _dynamics(
    algorithm: Callable[..., list[Scalar]],
    model: Model,
    frame: str,
    mode: str,
    q: Values,
    v: Values,
    x: Values,
) -> Any:
    y = algorithm(model, q, v, x)
    by_q, by_v = _along(model, y, q, mode), jacobian(y, v, mode)
    return {'dq': by_q, 'dv': by_v, 'dx': jacobian(y, x, mode)}


def _regressor(model: Model, frame: str, mode: str, q: Values, v: Values, a: Values) -> Any:
    pi = _new_symbols(q, 10 * len(model.joints))
    bodies = tuple(LinearInertia(pi[i : i + 10]) for i in range(0, len(pi), 10))
    return jacobian(inverse_dynamics(replace(model, inertias=bodies), q, v, a), pi, mode)


def _com_jacobian(model: Model, frame: str, mode: str, q: Values) -> Any:
    return _along(model, [*center_of_mass(model, q)], q, mode)


def _jacobian_elements(model: Model, frame: str, q: Values) -> list[Scalar]:
    columns = jacobian_columns(model, q, model.frame(frame), REFERENCE)
    return [x for row in zip(*[column.components() for column in columns]) for x in row]


def _jacobian_hessian(model: Model, frame: str, mode: str, q: Values) -> Any:
    return _along(model, _jacobian_elements(model, frame, q), q, mode)


def _jacobian_derivative(model: Model, frame: str, mode: str, q: Values, v: Values) -> Any:
    moving = [[sum((rate * v_k for rate, v_k in zip(row, v)), 0.0)] for row in rate_map(model, q)]
    return jacobian(_jacobian_elements(model, frame, q), q, mode, moving)


SWEEPS: Mapping[str, tuple[bool, Callable[..., Any]]] = {
    'gravity': (False, _gravity),
    'momentum_observer_terms': (False, _momentum),
    'mass_matrix': (False, _mass_matrix),
    'com_jacobian': (False, _com_jacobian),
    'jacobian_derivative': (True, _jacobian_derivative),
    'jacobian_hessian': (True, _jacobian_hessian),
    'regressor': (False, _regressor),
    'inverse_dynamics_derivatives': (False, partial(_dynamics, inverse_dynamics)),
    'forward_dynamics_derivatives': (False, partial(_dynamics, forward_dynamics)),
}
"""Whether a kernel has a frame and a reference, and the sweep that computes the same."""
