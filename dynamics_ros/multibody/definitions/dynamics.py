# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics: torques, accelerations and the matrices between them."""

from __future__ import annotations

from typing import Any

from dynamics_ros.algorithms.coriolis import coriolis_matrix
from dynamics_ros.algorithms.forward_dynamics import forward_dynamics, hybrid_dynamics
from dynamics_ros.algorithms.gravity import gravity_torques
from dynamics_ros.algorithms.inverse_dynamics import (
    inverse_dynamics,
    joint_wrenches,
    nonlinear_effects,
)
from dynamics_ros.algorithms.joint_friction import friction_torque
from dynamics_ros.algorithms.linear_algebra.solve import factorize, inverse_of
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.momentum import momentum_observer_terms
from dynamics_ros.algorithms.regressor import (
    PARAMETERS,
    factor_size,
    regressor,
    regressor_factor_step,
)
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

from .definition import (
    TORQUES,
    Definition,
    Elements,
    Formula,
    Options,
    Values,
    checked_indices,
    of_bodies,
    over,
    result,
    shaped,
    square,
    with_wrenches,
)

MATRIX = 'rows as tau, columns as v; for prismatic joints m in place of rad'


def _joint_wrenches(model: Model, *arguments: Any) -> Elements:
    return of_bodies(model, joint_wrenches(model, *arguments))


def _hybrid_dynamics(model: Model, *prescribed: str) -> Formula:
    given = ':'.join(map(str, prescribed))
    indices = frozenset(checked_indices(prescribed, model.nv, 'prescribed', given))

    def function(q: Values, v: Values, a: Values, tau: Values) -> dict[str, list[Scalar]]:
        all_a, all_tau = hybrid_dynamics(model, q, v, a, tau, indices)
        return {'a': all_a, 'tau': all_tau}

    return Formula({'q': model.nq, 'v': model.nv, 'a': model.nv, 'tau': model.nv}, function)


def _momentum_observer_terms(model: Model) -> Formula:
    def function(q: Values, v: Values) -> dict[str, list[Scalar]]:
        p, beta = momentum_observer_terms(model, q, v)
        return {'p': p, 'beta': beta}

    return Formula({'q': model.nq, 'v': model.nv}, function)


def _gravity_of(model: Model, *names: str) -> Formula:
    """Gravity torques of some joints of one coordinate, in the order given."""
    indices = {joint.name: joint.v_indices[0] for joint in model.actuated if joint.kind.nv == 1}

    def function(q: Values) -> list[Scalar]:
        torques = gravity_torques(model, q)
        return [torques[indices[name]] for name in names]

    return Formula({'q': model.nq}, function)


FRICTION = ('viscous', 'coulomb', 'stribeck', 'friction_velocity', 'stribeck_velocity')
"""Arguments of ``friction_torque`` for each joint."""


def _joint_friction(model: Model) -> Formula:
    def function(*arguments: Values) -> list[Scalar]:
        return [friction_torque(*column) for column in zip(*arguments, strict=True)]

    return Formula(dict.fromkeys(('v', *FRICTION), model.nv), function)


def _coriolis(model: Model, q: Values, v: Values) -> Elements:
    return square(model, coriolis_matrix(model, q, v))


def _mass_matrix(model: Model, q: Values) -> Elements:
    return square(model, mass_matrix(model, q))


def _mass_matrix_inverse(model: Model, q: Values) -> Elements:
    return square(model, inverse_of(factorize(mass_matrix(model, q))))


def _regressor(model: Model, q: Values, v: Values, a: Values) -> Elements:
    return shaped(regressor(model, q, v, a), model.nv, 10 * len(model.joints))


def _regressor_factor(model: Model, *columns: str) -> Formula:
    count = len(PARAMETERS) * len(model.joints) + model.nv
    chosen = checked_indices(columns, count, 'columns', ':'.join(columns), 'parameters')

    def function(*arguments: Values) -> list[Scalar]:
        return regressor_factor_step(model, chosen, *arguments)

    inputs = {'q': model.nq} | dict.fromkeys(('v', 'a', 'tau', 'weights'), model.nv)
    return Formula(inputs | {'factor': factor_size(len(chosen) + 1)}, function)


DYNAMICS = {
    'inverse_dynamics': Definition(
        with_wrenches(inverse_dynamics, 'a'),
        'torques of a motion: M a + C v + g - J^T wrenches',
        result(TORQUES),
        Options.WRENCHES,
        may_overflow=True,
    ),
    'joint_wrenches': Definition(
        with_wrenches(_joint_wrenches, 'a'),
        'what each moving body takes from its parent through its joint',
        result(
            'rows of bodies: force [N], torque [N m] about its origin, in the frame of the body'
        ),
        Options.WRENCHES,
        may_overflow=True,
    ),
    'gravity': Definition(
        over(gravity_torques, 'q'), 'torques that hold the robot at rest: g', result(TORQUES)
    ),
    'gravity_of': Definition(
        _gravity_of,
        'torques that hold some joints of one coordinate at rest',
        result('torques, in the order of the joints that the options name'),
        Options.OTHER,
        internal=True,
    ),
    'nonlinear_effects': Definition(
        over(nonlinear_effects, 'q', 'v'),
        'torques without acceleration: C v + g',
        result(TORQUES),
        may_overflow=True,
    ),
    'coriolis': Definition(
        over(_coriolis, 'q', 'v'),
        'Coriolis matrix C, for which dM/dt - 2 C is skew-symmetric',
        result(MATRIX),
        may_overflow=True,
    ),
    'joint_friction': Definition(
        _joint_friction,
        'what friction takes away in the joints',
        result('torques, along the velocities'),
        internal=True,
    ),
    'mass_matrix': Definition(over(_mass_matrix, 'q'), 'mass matrix M, symmetric', result(MATRIX)),
    'mass_matrix_inverse': Definition(
        over(_mass_matrix_inverse, 'q'),
        'inverse of the mass matrix',
        result('rows as a, columns as tau'),
        may_be_singular=True,
    ),
    'forward_dynamics': Definition(
        with_wrenches(forward_dynamics, 'tau'),
        'acceleration under torques: M^-1 (tau - C v - g + J^T wrenches)',
        result('an acceleration, as a'),
        Options.WRENCHES,
        may_be_singular=True,
    ),
    'hybrid_dynamics': Definition(
        _hybrid_dynamics,
        'all accelerations and torques, from a at the given indices of v and from tau elsewhere',
        {'a': 'accelerations', 'tau': 'torques'},
        Options.PRESCRIBED,
        may_be_singular=True,
    ),
    'regressor': Definition(
        over(_regressor, 'q', 'v', 'a'),
        'Y with tau = Y pi',
        result(
            'rows as tau; columns for each moving body m [kg], m c [kg m], '
            'Ixx Ixy Iyy Ixz Iyz Izz [kg m^2] about the origin of its frame'
        ),
        may_overflow=True,
    ),
    'regressor_factor_step': Definition(
        _regressor_factor,
        'R factor of columns of Y, rotors and tau, with the rows of one more state',
        result('entries of the upper triangle, row by row, for the next state'),
        Options.OTHER,
        may_overflow=True,
        internal=True,
    ),
    'momentum_observer_terms': Definition(
        _momentum_observer_terms,
        'terms of a momentum observer: dp/dt = tau + beta + external torques',
        {'p': 'M v, torques times s', 'beta': 'C^T v - g, torques'},
        may_overflow=True,
    ),
}
