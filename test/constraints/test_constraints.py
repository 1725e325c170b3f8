# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constrained motion obeys the laws of mechanics, on random trees, with gears and loops."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import assume, given
from laws import assert_close
from patience import examples
from planar_arms import planar_arm
from random_robots import SEEDS, random_robot, random_state, robots
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.constraints import (
    Contact,
    LinearConstraint,
    consistent_acceleration,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
    constraint_bias,
    constraint_jacobian,
    dynamics,
    support_projector,
)
from dynamics_ros.errors import InfeasibleError, InvalidArgumentError

FEW = examples(5)


def on_any_robot(law):
    """A test of random robots and seeds."""
    return FEW(given(robots(), SEEDS)(law))


WELL_CONDITIONED = 1e-3
"""Ratio of the singular values that count; nearer to a singularity forces grow without bound, and
so does their rounding."""


def in_contact(robot, seed):
    """A random state that keeps a random contact on the last body."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(['point', 'surface'])
    contacts = [Contact(robot.body_names[-1], str(kind), tuple(rng.uniform(-0.2, 0.2, 3)))]
    s = random_state(robot, seed)
    J = constraint_jacobian(robot, s.q, contacts)
    values = np.linalg.svd(np.linalg.solve(np.linalg.cholesky(robot.mass_matrix(s.q)), J.T))[1]
    counted = values[values > 1e-8 * values[0]]
    assume(counted[-1] > WELL_CONDITIONED * counted[0])
    return s, support_projector(robot, s.q, contacts) @ s.v, contacts


@on_any_robot
def test_forward_dynamics_keeps_the_contact_and_the_equation_of_motion(robot, seed):
    s, v, contacts = in_contact(robot, seed)
    a, forces = robot.constrained_forward_dynamics(s.q, v, s.tau, contacts)
    J, bias = constraint_jacobian(robot, s.q, contacts), constraint_bias(robot, s.q, v, contacts)
    assert_close(J @ a + bias, 0.0 * bias, LAW, 1.0 + np.abs(a).max() + np.abs(bias).max())
    assert_close(robot.inverse_dynamics(s.q, v, a) - J.T @ forces, s.tau, LAW, np.abs(a).max())
    assert np.array_equal(forces, robot.contact_forces(s.q, v, s.tau, contacts))


@on_any_robot
def test_inverse_dynamics_gives_torques_that_produce_the_motion(robot, seed):
    s, v, contacts = in_contact(robot, seed)
    every = np.ones(robot.nv, dtype=bool)
    a = consistent_acceleration(robot, s.q, v, s.a, contacts)
    for criterion in ('minimum_torque', 'minimum_constraint_force'):
        tau, forces = constrained_inverse_dynamics(robot, s.q, v, a, contacts, every, criterion)
        J = constraint_jacobian(robot, s.q, contacts)
        free = robot.inverse_dynamics(s.q, v, a)
        assert_close(tau + J.T @ forces, free)
        produced, _ = robot.constrained_forward_dynamics(s.q, v, tau, contacts)
        assert_close(produced, a, 10 * LAW, np.abs(free).max())


@on_any_robot
def test_hybrid_dynamics_is_forward_and_inverse_dynamics_at_its_ends(robot, seed):
    s, v, contacts = in_contact(robot, seed)
    none, every = np.zeros(robot.nv, dtype=bool), np.ones(robot.nv, dtype=bool)
    a, tau, forces = constrained_hybrid_dynamics(robot, s.q, v, s.a, s.tau, none, contacts)
    expected, pushes = robot.constrained_forward_dynamics(s.q, v, s.tau, contacts)
    assert_close(a, expected)
    assert_close(forces, pushes)
    assert np.array_equal(tau, s.tau)
    a, tau, forces = constrained_hybrid_dynamics(robot, s.q, v, a, s.tau, every, contacts)
    expected, pushes = robot.constrained_inverse_dynamics(
        s.q, v, a, contacts, actuated=every, criterion='minimum_constraint_force'
    )
    assert_close(tau, expected)
    assert_close(forces, pushes)


@on_any_robot
def test_an_impact_loses_the_energy_of_the_formula(robot, seed):
    s, _, contacts = in_contact(robot, seed)
    J = constraint_jacobian(robot, s.q, contacts)
    for restitution in (0.0, 0.4, 1.0):
        after, impulses = robot.impact(s.q, s.v, contacts, restitution)
        lost = robot.kinetic_energy(s.q, s.v) - robot.kinetic_energy(s.q, after)
        # [RD] eq. 3.72: the kinetic energy that moves the contact, without what comes back.
        Lambda = np.linalg.pinv(J @ robot.mass_matrix_inverse(s.q) @ J.T, rcond=1e-9)
        moving = 0.5 * (J @ s.v) @ Lambda @ (J @ s.v)
        assert_close(lost, (1.0 - restitution**2) * moving, LAW * 100, 1.0 + moving)
        assert_close(J @ after, -restitution * J @ s.v, LAW, np.abs(s.v).max())
        assert_close(robot.mass_matrix(s.q) @ (after - s.v), J.T @ impulses)
        assert lost >= -LAW


@on_any_robot
def test_the_support_projector_leaves_what_keeps_contact_alone(robot, seed):
    s, v, contacts = in_contact(robot, seed)
    N, J = support_projector(robot, s.q, contacts), constraint_jacobian(robot, s.q, contacts)
    assert_close(N @ N, N, LAW, 10.0)
    assert_close(J @ N, 0.0 * J, LAW, 10.0)
    assert_close(N @ v, v, LAW, 10.0)
    # An impact without bounce is this projection ([RD] eq. 3.70).
    assert_close(robot.impact(s.q, s.v, contacts)[0], N @ s.v)


@FEW
@given(robots(roots=('floating',), joints=(2, 5)), SEEDS)
def test_a_force_at_the_end_effector_feels_the_operational_space_inertia(robot, seed):
    s = random_state(robot, seed)
    frame = robot.body_names[-1]
    Lambda, mu, p = robot.operational_space(s.q, s.v, frame)
    F = np.random.default_rng(seed).normal(size=6)
    J = robot.jacobian(s.q, frame)
    a = robot.forward_dynamics(s.q, s.v, J.T @ F)
    acceleration = robot.frame_acceleration(s.q, s.v, a, frame)
    # [RD] eq. 3.86
    assert_close(Lambda @ acceleration + mu + p, F, 10 * LAW, np.abs(Lambda @ acceleration).max())


@on_any_robot
def test_everything_broadcasts_over_leading_axes(robot, seed):
    s, _, contacts = in_contact(robot, seed)
    other = random_state(robot, seed + 1)
    q = np.stack([s.q, other.q, s.q])[:, None]
    one = support_projector(robot, q, contacts) @ other.v[:, None]
    tau = np.stack([s.tau, other.tau])[None]
    both = robot.constrained_forward_dynamics(q, one[..., 0], tau, contacts)
    assert both[0].shape == (3, 2, robot.nv)
    for i in range(3):
        for k in range(2):
            single = robot.constrained_forward_dynamics(
                q[i, 0], one[i, 0, :, 0], tau[0, k], contacts
            )
            assert_close(both[0][i, k], single[0])
            assert_close(both[1][i, k], single[1])
    after, _ = robot.impact(q, other.v, contacts)
    assert_close(after[2, 0], robot.impact(s.q, other.v, contacts)[0])


def test_a_gear_couples_two_joints():
    robot = Robot.from_urdf(planar_arm((0.5, 0.5)), backend='python')
    gear = LinearConstraint.constant([[1.0, -2.0]])
    q, v, tau = np.array([0.3, 0.4]), np.array([2.0, 1.0]), np.array([1.0, -1.0])
    a, forces = robot.constrained_forward_dynamics(q, v, tau, gear)
    assert a[0] == pytest.approx(2.0 * a[1])
    # The same as one coordinate: q = T s with T = (2, 1), reduced by T^T.
    T = np.array([2.0, 1.0])
    h = robot.nonlinear_effects(q, v)
    assert a[1] == pytest.approx(T @ (tau - h) / (T @ robot.mass_matrix(q) @ T))
    assert_close(forces * np.array([1.0, -2.0]), robot.inverse_dynamics(q, v, a) - tau)


def test_a_foot_that_bounces_along_the_normal_only_stops_sideways():
    robot = Robot.from_urdf(planar_arm((0.5, 0.4)), 'floating', backend='python')
    s = random_state(robot, 3)
    J = constraint_jacobian(robot, s.q, 'tip')
    after, _ = robot.impact(s.q, s.v, 'tip', [0.0, 0.0, 0.5])
    assert_close(J @ after, np.array([0.0, 0.0, -0.5 * (J @ s.v)[2]]))


@pytest.mark.parametrize(
    ('wrong', 'said'),
    [
        (lambda robot, q: Contact('tip', 'line'), "kind: 'line'"),
        (lambda robot, q: LinearConstraint.constant([1.0, 2.0]), 'matrix: shape'),
        (lambda robot, q: robot.contact_forces(q, q, q, 'toe'), "unknown frame 'toe'"),
        (lambda robot, q: robot.contact_forces(q, q, q, 7), 'contacts: 7'),
        (lambda robot, q: robot.contact_forces(q, q, q * np.nan, 'tip'), 'tau: nan at'),
        (lambda robot, q: robot.contact_forces(q, q, q + 0.5j, 'tip'), 'tau: dtype complex128'),
        (lambda robot, q: robot.constrained_inverse_dynamics(q, q, q + 0.5j, 'tip'), 'a: dtype'),
        (lambda robot, q: robot.impact(q, q + 0.5j, 'tip'), 'v: dtype complex128'),
        (lambda robot, q: robot.impact(q, q, 'tip', 1.5), 'restitution: 1.5'),
        (
            lambda robot, q: robot.impact(q, q, 'tip', [[0.1], [0.1, 0.2]]),
            'restitution: rows of',
        ),
        (lambda robot, q: robot.impact(q, q, 'tip', [0.1, 0.2]), r'restitution: \[0.1, 0.2\]'),
        (
            lambda robot, q: robot.constrained_inverse_dynamics(q, q, q, 'tip', criterion='none'),
            "criterion: 'none'",
        ),
        (
            lambda robot, q: robot.constrained_inverse_dynamics(q, q, q, 'tip', actuated=[1, 0]),
            'actuated: int64',
        ),
        *(
            (lambda robot, q, x=x: robot.operational_space(q, q, 'tip', rows=x), 'rows: ')
            for x in [(0, 9), ['0', '1'], '01', [0, 1.0], [1, True], ()]
        ),
    ],
)
def test_wrong_arguments_are_named(wrong, said):
    robot = Robot.from_urdf(planar_arm((0.5, 0.4)), backend='python')
    with pytest.raises(InvalidArgumentError, match=said):
        wrong(robot, np.array([0.3, 0.4]))


def test_prescribed_accelerations_that_break_the_loop_are_refused():
    robot = Robot.from_urdf(planar_arm((0.4, 0.3, 0.2, 0.6)), backend='python')
    q, v, a = np.array([-0.4, 1.1, 0.7, 0.9]), np.zeros(4), np.array([1.5, 2.0, 0.0, 1.2])
    three = np.array([True, True, False, True])
    with pytest.raises(InfeasibleError, match='whatever the free joints do'):
        constrained_hybrid_dynamics(robot, q, v, a, v, three, Contact('tip'))


@pytest.fixture(scope='module')
def standing():
    robot = random_robot(3, 3, 'floating')
    return robot, random_state(robot, 3)


def rows_of(robot, s, contacts):
    """Accelerations of the rows of contacts under torques from rest: zero where they hold."""
    v = np.zeros(robot.nv)
    a, _ = robot.constrained_forward_dynamics(s.q, v, s.a, contacts)
    return constraint_jacobian(robot, s.q, contacts) @ a


def test_contacts_made_anew_are_not_taken_for_those_that_are_gone(standing, monkeypatch):
    monkeypatch.setattr(dynamics, 'MAX_CACHED', 4)
    robot, s = standing
    frame = robot.body_names[-1]
    for k in range(20):  # the memory of one is the next one's
        held = rows_of(robot, s, [Contact(frame, point=(0.1 * k, 0.0, -0.05 * k))])
        assert_close(held, np.zeros(3), LAW)
        assert len(robot._kept['constraints']) <= 4


@pytest.mark.parametrize('kind', [list, deque])
def test_a_list_of_contacts_may_change(standing, kind):
    robot, s = standing
    frame = robot.body_names[-1]
    contacts = kind([Contact(frame)])
    assert rows_of(robot, s, contacts).shape == (3,)
    contacts[0] = Contact(frame, point=(0.3, 0.0, 0.0))
    assert_close(rows_of(robot, s, contacts), np.zeros(3), LAW)
    contacts[0] = Contact(frame, 'normal')
    assert_close(rows_of(robot, s, contacts), np.zeros(1), LAW)
