# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laws of mechanics hold on random trees, robots that nobody tuned for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from laws import assert_close, rate
from patience import examples
from random_robots import SEEDS, random_robot, random_state, robots
from tolerances import DIFFERENCE, EXACT, LAW, SIMULATED

from dynamics_ros.constraints import projected_newton_euler

FEW = examples(8)
"""Every random robot is traced anew, a tenth of a second for each quantity."""

WEIGHTLESS = (0.0, 0.0, 0.0)


def simulate(robot, q, v, torques, duration=0.1, step=2e-4):
    """States of a simulation by midpoint steps on the manifold."""
    states = [(q, v)]
    for _ in range(round(duration / step)):
        a = robot.forward_dynamics(q, v, torques)
        middle_q = robot.integrate(q, 0.5 * step * v)
        middle_v = v + 0.5 * step * a
        a = robot.forward_dynamics(middle_q, middle_v, torques)
        q, v = robot.integrate(q, step * middle_v), v + step * a
        states.append((q, v))
    return states


@FEW
@given(robots(), SEEDS)
def test_forward_dynamics_inverts_inverse_dynamics(robot, seed):
    s = random_state(robot, seed)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    assert_close(robot.forward_dynamics(s.q, s.v, tau), s.a, LAW, np.abs(tau).max())


@FEW
@given(robots(), SEEDS)
def test_the_mass_matrix_is_symmetric_and_positive_definite(robot, seed):
    M = robot.mass_matrix(random_state(robot, seed).q)
    assert_close(M, M.T, EXACT)
    assert np.linalg.eigvalsh(M).min() > 0.0
    assert_close(M @ robot.mass_matrix_inverse(random_state(robot, seed).q), np.eye(robot.nv))


@FEW
@given(robots(), SEEDS)
def test_the_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(robot, seed):
    s = random_state(robot, seed)
    M_dot = rate(lambda q, v: robot.mass_matrix(q), robot, s, np.zeros(robot.nv))
    C = robot.coriolis(s.q, s.v)
    assert_close(M_dot, C + C.T, DIFFERENCE)


@FEW
@given(robots(), SEEDS)
def test_kinetic_energy_changes_by_the_power_of_torques_and_gravity(robot, seed):
    s = random_state(robot, seed)
    a = robot.forward_dynamics(s.q, s.v, s.tau)
    power = s.v @ s.tau - s.v @ robot.gravity(s.q)
    scale = np.abs(s.v * robot.gravity(s.q)).sum() + np.abs(a).max()
    assert_close(rate(robot.kinetic_energy, robot, s, a), power, DIFFERENCE, scale)


@examples(2)
@given(robots(joints=(2, 4)), SEEDS)
def test_a_simulation_conserves_energy(robot, seed):
    s = random_state(robot, seed)
    energies = [
        robot.kinetic_energy(q, v) + robot.potential_energy(q)
        for q, v in simulate(robot, s.q, 0.5 * s.v, np.zeros(robot.nv))[::50]
    ]
    kinetic = robot.total_mass * 9.81
    assert_close(np.array(energies), energies[0], SIMULATED, kinetic)


@FEW
@given(robots(roots=('floating',), gravity=WEIGHTLESS), SEEDS)
def test_momentum_does_not_change_without_external_force(robot, seed):
    s = random_state(robot, seed)
    internal = np.where(np.arange(robot.nv) < 6, 0.0, s.tau)
    a = robot.forward_dynamics(s.q, s.v, internal)
    change = rate(robot.centroidal_momentum, robot, s, a)
    assert_close(change, np.zeros(6), DIFFERENCE, np.abs(a).max() * robot.total_mass)


@FEW
@given(robots(), SEEDS)
def test_hybrid_dynamics_agrees_with_inverse_dynamics_between_its_ends(robot, seed):
    s = random_state(robot, seed)
    prescribed = np.random.default_rng(seed).random(robot.nv) < 0.5
    a, tau = robot.hybrid_dynamics(s.q, s.v, s.a, s.tau, prescribed)
    assert np.array_equal(a[prescribed], s.a[prescribed])
    assert np.array_equal(tau[~prescribed], s.tau[~prescribed])
    assert_close(robot.inverse_dynamics(s.q, s.v, a), tau, LAW, np.abs(a).max())


@FEW
@given(robots(joints=(1, 4)), SEEDS)
def test_the_sum_over_bodies_is_the_recursion(robot, seed):
    s = random_state(robot, seed)
    M, b, g = projected_newton_euler(robot, s.q, s.v)
    assert_close(M, robot.mass_matrix(s.q))
    assert_close(g, robot.gravity(s.q))
    assert_close(b + g, robot.nonlinear_effects(s.q, s.v))


@pytest.mark.parametrize('root', ['fixed', 'floating', 'planar'])
def test_the_random_robots_have_joints_of_every_kind(root):
    made = [random_robot(seed, 5, root) for seed in range(40)]
    kinds = {joint.kind.name for robot in made for joint in robot.model.joints}
    assert {'revolute', 'continuous', 'prismatic'} <= kinds
    assert any(robot.model.has_mimic_joints for robot in made)
    assert any(len(robot.frame_names) > len(robot.body_names) + 1 for robot in made)
