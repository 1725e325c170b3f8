"""The kernels of a robot: for each name, the inputs and the algorithm that is traced.

A definition is looked up by a key (name, *options), e.g. ``('jacobian', 'tool0', 'world')``. The
options are what a trace fixes: frames and references; configurations and velocities are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .algorithms import centroidal, configuration, energy, forward_kinematics
from .algorithms.coriolis import coriolis_matrix
from .algorithms.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from .algorithms.forward_dynamics import forward_dynamics, hybrid_dynamics
from .algorithms.inverse_dynamics import gravity_torques, inverse_dynamics, nonlinear_effects
from .algorithms.inverse_kinematics_step import (
    FIGURES,
    inverse_kinematics_step,
    moving_coordinates,
)
from .algorithms.jacobian import (
    REFERENCES,
    jacobian_columns,
    jacobian_derivative,
    jacobian_hessian,
)
from .algorithms.linear import factorize, inverse_of
from .algorithms.mass_matrix import mass_matrix
from .algorithms.momentum import momentum_observer_terms
from .algorithms.regressor import regressor
from .errors import InvalidArgumentError
from .model import ROOT, Model
from .spatial import Force, Motion, Scalar

Key = tuple[str, ...]
Shape = int | tuple[int, ...]
Values = Sequence[Scalar]


@dataclass(frozen=True)
class Definition:
    """Inputs by name and shape, and the function of them that is traced."""

    inputs: Mapping[str, Shape]
    function: Callable[..., Any]


def define(model: Model, key: Key) -> Definition:
    """The definition of a kernel.

    Raises:
        UnknownFrameError: an option names a frame that the model does not have.
        InvalidArgumentError: an option names an unknown reference.
    """
    name, *options = key
    return _DEFINITIONS[name](model, *options)


def _over(algorithm: Callable[..., Any], *inputs: str) -> Callable[[Model], Definition]:
    """An algorithm of (model, *inputs) without options."""

    def make(model: Model) -> Definition:
        sizes = {'t': ()}
        shapes = {x: sizes.get(x, model.nq if x.startswith('q') else model.nv) for x in inputs}
        return Definition(shapes, lambda *values: algorithm(model, *values))

    return make


def _forward_kinematics(model: Model, frame: str) -> Definition:
    target = model.frame(frame)
    return Definition(
        {'q': model.nq}, lambda q: forward_kinematics.frame_pose(model, q, target).rows()
    )


def _all_frames(model: Model) -> Definition:
    return Definition(
        {'q': model.nq}, lambda q: [X.rows() for X in forward_kinematics.frame_poses(model, q)]
    )


def _frame_velocity(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)

    def function(q: Values, v: Values) -> list[Scalar]:
        return forward_kinematics.frame_velocity(model, q, v, target, checked).components()

    return Definition({'q': model.nq, 'v': model.nv}, function)


def _frame_acceleration(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)

    def function(q: Values, v: Values, a: Values) -> list[Scalar]:
        return forward_kinematics.frame_acceleration(model, q, v, a, target, checked).components()

    return Definition({'q': model.nq, 'v': model.nv, 'a': model.nv}, function)


def _jacobian(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)
    return Definition(
        {'q': model.nq}, lambda q: _matrix(jacobian_columns(model, q, target, checked))
    )


def _jacobian_derivative(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)

    def function(q: Values, v: Values) -> list[list[Scalar]]:
        return _matrix(jacobian_derivative(model, q, v, target, checked))

    return Definition({'q': model.nq, 'v': model.nv}, function)


def _jacobian_hessian(model: Model, frame: str, reference: str) -> Definition:
    target, checked = model.frame(frame), _reference(reference)

    def function(q: Values) -> list[list[list[Scalar]]]:
        hessian = [
            [rate.components() for rate in rates]
            for rates in jacobian_hessian(model, q, target, checked)
        ]
        return [[[rate[row] for rate in rates] for rates in hessian] for row in range(6)]

    return Definition({'q': model.nq}, function)


def _with_wrenches(algorithm: Callable[..., list[Scalar]], third: str) -> Callable[..., Definition]:
    """An algorithm of (model, q, v, third, external): the options are the frames of wrenches."""

    def make(model: Model, *frames: str) -> Definition:
        targets = [model.frame(frame) for frame in frames]

        def function(q: Values, v: Values, x: Values, *wrenches: Values) -> list[Scalar]:
            external: dict[int, Force] = {}
            for target, wrench in zip(targets, wrenches, strict=True):
                if target.body != ROOT:
                    force = target.placement.act(Force.of(wrench))
                    external[target.body] = external.get(target.body, Force.zero()) + force
            return algorithm(model, q, v, x, external)

        inputs: dict[str, Shape] = {'q': model.nq, 'v': model.nv, third: model.nv}
        inputs |= {f'external_wrench_{i}': 6 for i in range(len(frames))}
        return Definition(inputs, function)

    return make


def _hybrid_dynamics(model: Model, *prescribed: str) -> Definition:
    indices = frozenset(int(k) for k in prescribed)

    def function(q: Values, v: Values, a: Values, tau: Values) -> dict[str, list[Scalar]]:
        all_a, all_tau = hybrid_dynamics(model, q, v, a, tau, indices)
        return {'a': all_a, 'tau': all_tau}

    return Definition({'q': model.nq, 'v': model.nv, 'a': model.nv, 'tau': model.nv}, function)


def _derivatives(
    algorithm: Callable[..., tuple[Any, Any, Any]], third: str
) -> Callable[[Model], Definition]:
    """An algorithm of (model, q, v, third) with three results."""

    def make(model: Model) -> Definition:
        def function(q: Values, v: Values, x: Values) -> dict[str, Any]:
            return dict(zip(('dq', 'dv', f'd{third}'), algorithm(model, q, v, x), strict=True))

        return Definition({'q': model.nq, 'v': model.nv, third: model.nv}, function)

    return make


def _momentum_observer_terms(model: Model) -> Definition:
    def function(q: Values, v: Values) -> dict[str, list[Scalar]]:
        p, beta = momentum_observer_terms(model, q, v)
        return {'p': p, 'beta': beta}

    return Definition({'q': model.nq, 'v': model.nv}, function)


def _inverse_kinematics_step(model: Model, *frames: str) -> Definition:
    moved = [model.frame(frame) for frame in frames]
    n, m = len(moving_coordinates(model, moved)), len(moved)

    def function(*arguments: Any) -> list[Scalar]:
        return inverse_kinematics_step(model, moved, *arguments)

    inputs: dict[str, Shape] = {'state': n + FIGURES, 'targets': (m, 4, 4)}
    inputs |= {'joints': (5, n), 'tasks': (m, 2, 6), 'settings': 2}
    return Definition(inputs, function)


_DEFINITIONS: dict[str, Callable[..., Definition]] = {
    'integrate': _over(configuration.integrate, 'q', 'v'),
    'difference': _over(configuration.difference, 'q0', 'q1'),
    'interpolate': _over(configuration.interpolate, 'q0', 'q1', 't'),
    'forward_kinematics': _forward_kinematics,
    'all_frames': _all_frames,
    'frame_velocity': _frame_velocity,
    'frame_acceleration': _frame_acceleration,
    'jacobian': _jacobian,
    'jacobian_derivative': _jacobian_derivative,
    'jacobian_hessian': _jacobian_hessian,
    'inverse_dynamics': _with_wrenches(inverse_dynamics, 'a'),
    'inverse_kinematics_step': _inverse_kinematics_step,
    'gravity': _over(gravity_torques, 'q'),
    'nonlinear_effects': _over(nonlinear_effects, 'q', 'v'),
    'coriolis': _over(coriolis_matrix, 'q', 'v'),
    'mass_matrix': _over(mass_matrix, 'q'),
    'mass_matrix_inverse': _over(
        lambda model, q: inverse_of(factorize(mass_matrix(model, q))), 'q'
    ),
    'forward_dynamics': _with_wrenches(forward_dynamics, 'tau'),
    'hybrid_dynamics': _hybrid_dynamics,
    'inverse_dynamics_derivatives': _derivatives(inverse_dynamics_derivatives, 'a'),
    'forward_dynamics_derivatives': _derivatives(forward_dynamics_derivatives, 'tau'),
    'regressor': _over(regressor, 'q', 'v', 'a'),
    'momentum_observer_terms': _momentum_observer_terms,
    'kinetic_energy': _over(energy.kinetic_energy, 'q', 'v'),
    'potential_energy': _over(energy.potential_energy, 'q'),
    'center_of_mass': _over(lambda model, q: [*energy.center_of_mass(model, q)], 'q'),
    'com_jacobian': _over(
        lambda model, q: _rows([[*x] for x in centroidal.center_of_mass_jacobian(model, q)], 3),
        'q',
    ),
    'centroidal_momentum': _over(
        lambda model, q, v: centroidal.centroidal_momentum(model, q, v).components(), 'q', 'v'
    ),
    'centroidal_map': _over(lambda model, q: _matrix(centroidal.centroidal_map(model, q)), 'q'),
}


def _matrix(columns: Iterable[Motion | Force]) -> list[list[Scalar]]:
    """Six rows of motions or forces that are columns."""
    return _rows([column.components() for column in columns], 6)


def _rows(columns: Sequence[Sequence[Scalar]], count: int) -> list[list[Scalar]]:
    """Columns as rows; a robot without joints has rows without entries."""
    return [[column[row] for column in columns] for row in range(count)]


def _reference(reference: str) -> str:
    if reference not in REFERENCES:
        raise InvalidArgumentError('reference', repr(reference), f'one of {REFERENCES}')
    return reference
