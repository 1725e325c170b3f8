# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The analytic recursions are the derivatives of the algorithms, by sweeps over their traces.

A sweep differentiates by coordinates. Derivatives along velocities, of f(q exp(t e_k)) at t = 0,
are these times the rates of the coordinates for unit velocities: 7 by 6 for a floating base.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import EXACT, LAW

from dynamics_ros.algorithms.energy import kinetic_energy, potential_energy
from dynamics_ros.algorithms.inverse_dynamics import inverse_dynamics
from dynamics_ros.algorithms.quantity import define
from dynamics_ros.kernels import derivative, jacobian, trace
from dynamics_ros.kernels.source import PlainFunction
from dynamics_ros.spatial import Force, Matrix3, Motion, Vector3

FEW = examples(4)
"""Every random robot is traced and differentiated anew."""


def on_any_robot(law):
    """A test of random robots and seeds."""
    return FEW(given(robots(), SEEDS)(law))


MODES = ('forward', 'reverse')


class LinearInertia:
    """An inertia by its ten parameters, in which its forces are linear."""

    def __init__(self, parameters):
        self.mass, *rest = parameters
        self.moment = Vector3(*rest[:3])
        xx, xy, yy, xz, yz, zz = rest[3:]
        self.about_origin = Matrix3(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))

    def __matmul__(self, motion):
        v, w, h = motion.linear, motion.angular, self.moment
        return Force(v * self.mass + w.cross(h), h.cross(v) + self.about_origin @ w)

    def bias_force(self, motion):
        return motion.cross(self @ motion)


def traced(robot, *key):
    definition = define(robot.model, key)
    return trace(definition.function, definition.inputs, key[0])


def evaluated(made, *arguments):
    """The output of a trace as an array."""
    flat = PlainFunction(made)(*[x.tolist() for x in arguments])
    return np.reshape(flat, made.outputs[0].shape)


@functools.lru_cache(maxsize=256)
def _steps(robot):
    return derivative(traced(robot, 'integrate'), by='v')


def coordinate_rates(robot, q):
    """The rate of each coordinate for each unit velocity, (nq, nv)."""
    return evaluated(_steps(robot), q, np.zeros(robot.nv))


def along_velocities(robot, made, *state):
    """A derivative by q as one along velocities."""
    return evaluated(made, *state) @ coordinate_rates(robot, state[0])


def assert_close(actual, expected, tolerance=EXACT, scale=1.0):
    size = max(scale, float(np.abs(expected).max(initial=0.0)))
    assert np.abs(actual - expected).max(initial=0.0) <= tolerance * size


@pytest.mark.parametrize('mode', MODES)
@on_any_robot
def test_inverse_dynamics_derivatives(mode, robot, seed):
    s, tau = random_state(robot, seed), traced(robot, 'inverse_dynamics')
    dq, dv, da = robot.inverse_dynamics_derivatives(s.q, s.v, s.a)
    state = s.q, s.v, s.a
    assert_close(along_velocities(robot, derivative(tau, 'q', mode=mode), *state), dq)
    assert_close(evaluated(derivative(tau, 'v', mode=mode), *state), dv)
    assert_close(evaluated(derivative(tau, 'a', mode=mode), *state), da)


@pytest.mark.parametrize('mode', MODES)
@FEW
@given(robots(joints=(1, 4)), SEEDS)
def test_forward_dynamics_derivatives(mode, robot, seed):
    s = random_state(robot, seed)
    a = traced(robot, 'forward_dynamics')
    dq, dv, dtau = robot.forward_dynamics_derivatives(s.q, s.v, s.tau)
    state = s.q, s.v, s.tau
    # Both are divided by the mass matrix, in different orders.
    assert_close(along_velocities(robot, derivative(a, 'q', mode=mode), *state), dq, LAW)
    assert_close(evaluated(derivative(a, 'v', mode=mode), *state), dv, LAW)
    assert_close(evaluated(derivative(a, 'tau', mode=mode), *state), dtau, LAW)


@pytest.mark.parametrize('reference', ['world', 'local', 'local_world_aligned'])
@on_any_robot
def test_the_hessian_and_the_rate_of_a_jacobian(reference, robot, seed):
    s = random_state(robot, seed)
    frame = robot.frame_names[-1]
    by_q = derivative(traced(robot, 'jacobian', frame, reference), 'q')
    hessian = along_velocities(robot, by_q, s.q)
    assert_close(robot.jacobian_hessian(s.q, frame, reference), hessian)
    assert_close(robot.jacobian_derivative(s.q, s.v, frame, reference), hessian @ s.v)


@on_any_robot
def test_gravity_is_the_gradient_of_potential_energy(robot, seed):
    q = random_state(robot, seed).q
    by_q = derivative(traced(robot, 'potential_energy'), 'q')
    assert_close(robot.gravity(q), along_velocities(robot, by_q, q), EXACT, 10.0)


@on_any_robot
def test_the_mass_matrix_is_the_hessian_of_kinetic_energy(robot, seed):
    s = random_state(robot, seed)

    def hessian(q, v):
        return jacobian(jacobian([kinetic_energy(robot.model, q, v)], v)[0], v)

    made = trace(hessian, {'q': robot.nq, 'v': robot.nv}, 'hessian')
    assert_close(robot.mass_matrix(s.q), evaluated(made, s.q, s.v))


@on_any_robot
def test_momentum_observer_terms_are_gradients_of_the_lagrangian(robot, seed):
    """p = dL/dv; beta = dL/dq + ad*_v p, where velocities of one joint do not commute."""
    s = random_state(robot, seed)

    def gradients(q, v):
        lagrangian = kinetic_energy(robot.model, q, v) - potential_energy(robot.model, q)
        return jacobian([lagrangian], [*v, *q])[0]

    made = trace(gradients, {'q': robot.nq, 'v': robot.nv}, 'gradients')
    both = evaluated(made, s.q, s.v)
    p, by_q = both[: robot.nv], both[robot.nv :]
    beta = by_q @ coordinate_rates(robot, s.q)
    for joint in robot.model.joints:
        if joint.leader is None:
            turning = joint.motion(s.q, s.v)
            momentum = _momentum_of(joint, s.q, p)
            for k, S in joint.subspace(s.q):
                beta[k] += turning.cross(S).dot(momentum)
    found = robot.momentum_observer_terms(s.q, s.v)
    assert_close(found[0], p)
    assert_close(found[1], beta, EXACT, 10.0)


def _momentum_of(joint, q, p):
    """A force whose power along the columns of the joint is p; they are orthonormal."""
    total = Motion.zero()
    for k, S in joint.subspace(q):
        total = total + S * p[k]
    return Force(total.linear, total.angular)


@on_any_robot
def test_the_regressor_is_the_derivative_by_inertial_parameters(robot, seed):
    s = random_state(robot, seed)
    model, n = robot.model, len(robot.model.joints)

    def by_parameters(q, v, a, pi):
        bodies = tuple(LinearInertia(pi[10 * i : 10 * i + 10]) for i in range(n))
        return jacobian(inverse_dynamics(replace(model, inertias=bodies), q, v, a), pi)

    shapes = {'q': robot.nq, 'v': robot.nv, 'a': robot.nv, 'pi': 10 * n}
    made = trace(by_parameters, shapes, 'by_parameters')
    Y = evaluated(made, s.q, s.v, s.a, np.zeros(10 * n))
    assert_close(robot.regressor(s.q, s.v, s.a), Y)
