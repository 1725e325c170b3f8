# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives with wrenches and in contact: sweeps, differences, Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import AGAINST_PINOCCHIO, DIFFERENCE, DIFFERENCE_STEP, LAW

from benchmarks.pinocchio_contacts import PinocchioContacts
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.constraints import (
    ClosedLoop,
    ConfigurationConstraint,
    Contact,
    LinearConstraint,
    Stabilized,
    consistent_acceleration,
    constrained_forward_dynamics,
    constrained_forward_dynamics_derivatives,
    constrained_hybrid_dynamics,
    constrained_hybrid_dynamics_derivatives,
    constrained_inverse_dynamics,
    constrained_inverse_dynamics_derivatives,
    constraint_jacobian,
    impact,
    impact_derivatives,
    support_projector,
)
from dynamics_ros.errors import InvalidArgumentError, RankDeficientError

FEW = examples(4)


def differences(robot, function, q, *others):
    """Central differences of a function by q, along velocities, and by each of the others."""

    def columns(step):
        pairs = [(step(h * unit), step(-h * unit)) for unit in np.eye(robot.nv)]
        return np.stack([(ahead - behind) / (2.0 * h) for ahead, behind in pairs], axis=-1)

    h = DIFFERENCE_STEP
    yield columns(lambda dx: function(robot.integrate(q, dx), *others))
    for i in range(len(others)):
        before, x, after = others[:i], others[i], others[i + 1 :]
        yield columns(lambda dx, a=before, x=x, b=after: function(q, *a, x + dx, *b))


def wrenches_on(robot, seed):
    rng = np.random.default_rng(seed)
    names = {robot.frame_names[0], robot.frame_names[-1], str(rng.choice(robot.frame_names))}
    return {name: rng.normal(size=6) for name in sorted(names)}


@FEW
@given(robots(), SEEDS)
def test_inverse_dynamics_under_wrenches(robot, seed):
    s, wrenches = random_state(robot, seed), wrenches_on(robot, seed)
    found = robot.inverse_dynamics_derivatives(s.q, s.v, s.a, wrenches)
    expected = differences(
        robot, lambda q, v, a: robot.inverse_dynamics(q, v, a, wrenches), s.q, s.v, s.a
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert_close(ours, theirs, DIFFERENCE, 10.0)


@FEW
@given(robots(), SEEDS)
def test_forward_dynamics_under_wrenches(robot, seed):
    """da/dx = -M^-1 dtau/dx at the acceleration that the wrenches give too."""
    s, wrenches = random_state(robot, seed), wrenches_on(robot, seed)
    a = robot.forward_dynamics(s.q, s.v, s.tau, wrenches)
    dq, dv, M = robot.inverse_dynamics_derivatives(s.q, s.v, a, wrenches)
    a_dq, a_dv, a_dtau = robot.forward_dynamics_derivatives(s.q, s.v, s.tau, wrenches)
    assert_close(M @ a_dq, -dq, LAW, 10.0)
    assert_close(M @ a_dv, -dv, LAW, 10.0)
    assert_close(M @ a_dtau, np.eye(robot.nv))
    turned = robot.wrench_torques_derivative(s.q, wrenches)
    by_q = next(differences(robot, lambda q: robot.wrench_torques(q, wrenches), s.q))
    assert_close(turned, by_q, DIFFERENCE, 10.0)


HELD = ['point', 'normal', 'surface', 'position', 'revolute', 'pose']


FREE = Robot.from_urdf(
    """<robot name="free"><link name="place"/><link name="body"><inertial>
    <origin xyz="0.1 0.05 -0.1"/><mass value="1.3"/><inertia ixx="0.02" iyy="0.03" izz="0.025"
    ixy="0.001" ixz="0" iyz="0"/></inertial></link><joint name="j" type="floating">
    <parent link="place"/><child link="body"/></joint></robot>""",
    backend='python',
)
"""A body that nothing holds: a loop to it has rows that are independent."""


def held_by(robot, seed, kind):
    """A constraint of a random robot, to which a free body belongs where that closes a loop."""
    rng = np.random.default_rng(seed)
    point, direction = (tuple(map(float, x)) for x in rng.normal(size=(2, 3)))
    last = robot.frame_names[-1]
    if kind in ('point', 'normal', 'surface'):
        return robot, Contact(last, kind, point, direction)
    both = robot.with_tool(FREE, robot.frame_names[0], prefix='free_')
    q = random_state(both, seed).q
    return both, ClosedLoop.closed_at(both, q, 'free_body', last, kind, point, direction)


@pytest.mark.parametrize('kind', HELD)
@examples(3)
@given(robots(['floating'], (1, 3)), SEEDS)
@pytest.mark.few(3)
def test_dynamics_in_contact(kind, robot, seed):
    robot, held = held_by(robot, seed, kind)
    s = random_state(robot, seed)
    wrenches = wrenches_on(robot, seed) if seed % 2 else None

    def both(*state):
        return np.concatenate(constrained_forward_dynamics(robot, *state, held, wrenches))

    found = robot.constrained_forward_dynamics_derivatives(s.q, s.v, s.tau, held, wrenches)
    expected = differences(robot, both, s.q, s.v, s.tau)
    size = 1.0 + np.abs(both(s.q, s.v, s.tau)).max()
    for of_a, of_forces, theirs in zip(found[:3], found[3:], expected, strict=True):
        assert_close(np.concatenate([of_a, of_forces]), theirs, DIFFERENCE, 10.0 * size)


QUADRUPED = ('LF_FOOT', 'RF_FOOT', 'LH_FOOT', 'RH_FOOT')


@pytest.mark.parametrize(('kind', 'feet'), [('point', QUADRUPED), ('surface', QUADRUPED[:1])])
def test_a_quadruped_in_contact_agrees_with_pinocchio(kind, feet):
    """By forces too: theirs are in the axes of the root frame, as ours are."""
    text = urdf_path('anymal').read_text()
    robot = Robot.from_urdf(text, 'floating', backend='python')
    peer = PinocchioPeer(text, robot)
    contacts = [Contact(foot, kind, (0.02, 0.01, -0.03)) for foot in feet]
    s = random_state(robot, 4)
    v = support_projector(robot, s.q, contacts) @ s.v
    found = robot.constrained_forward_dynamics_derivatives(s.q, v, s.tau, contacts)
    theirs = PinocchioContacts(peer, contacts).derivatives(s.q, v, s.tau)
    for ours, expected in zip(found, theirs, strict=True):
        assert_close(ours, expected, AGAINST_PINOCCHIO * 10)


@pytest.fixture(scope='module')
def anymal():
    return Robot.from_urdf(urdf_path('anymal'), 'floating', backend='python')


def test_rows_that_repeat_others_have_no_derivatives(anymal):
    s = random_state(anymal, 0)
    twice = ['LF_FOOT', 'LF_FOOT']
    with pytest.raises(RankDeficientError, match='rank 3 where 6'):
        anymal.constrained_forward_dynamics_derivatives(s.q, 0.0 * s.v, s.tau, twice)


STABILIZED = {
    'loop': lambda robot, held, frame: Stabilized(held, 7.0),
    'contact': lambda robot, held, frame: Stabilized(
        Contact(frame, 'point', (0.1, 0.2, -0.1), anchor=(0.3, 0.1, 0.2)), 7.0
    ),
    'function': lambda robot, held, frame: Stabilized(
        ConfigurationConstraint(
            2, lambda q, t: robot.forward_kinematics(q, frame)[:2, 3] ** 2 + t * q[-1], time=0.7
        ),
        7.0,
    ),
    'velocity': lambda robot, held, frame: Stabilized(
        LinearConstraint(
            1,
            lambda q, t: robot.jacobian(q, frame)[2:3] + np.sin(t),
            target=lambda q, t: t * robot.forward_kinematics(q, frame)[:1, 3],
            time=0.7,
        ),
        7.0,
    ),
    'constant': lambda robot, held, frame: LinearConstraint.constant(
        np.linspace(1.0, 2.0, robot.nv)[None]
    ),
}
"""Constraints of a robot that hold a frame, or a loop that is almost closed."""


def held_and_stabilized(robot, seed, kind):
    robot, loop = held_by(robot, seed, 'revolute')
    # The derivative of the gap of a hinge is J where it is closed.
    step = 0.0 if kind == 'loop' else 0.02
    near = robot.integrate(random_state(robot, seed).q, np.full(robot.nv, step))
    held = STABILIZED[kind](robot, loop, robot.frame_names[-1])
    return robot, near, held if kind == 'loop' else [held, loop]


@pytest.mark.parametrize('kind', STABILIZED)
@examples(2)
@given(robots(['floating'], (2, 3)), SEEDS, st.randoms(use_true_random=False))
@pytest.mark.few(3)
def test_constraints_of_all_kinds(kind, robot, seed, random):
    """What can be simulated can be linearized: forward, with prescribed joints, at an impact."""
    robot, q, held = held_and_stabilized(robot, seed, kind)
    s = random_state(robot, seed)

    def forward(*state):
        return np.concatenate(constrained_forward_dynamics(robot, *state, held))

    found = constrained_forward_dynamics_derivatives(robot, q, s.v, s.tau, held)
    expected = differences(robot, forward, q, s.v, s.tau)
    size = 1.0 + np.abs(forward(q, s.v, s.tau)).max()
    for of_a, of_forces, theirs in zip(found[:3], found[3:], expected, strict=True):
        assert_close(np.concatenate([of_a, of_forces]), theirs, DIFFERENCE, 10.0 * size)

    mask = np.zeros(robot.nv, bool)
    mask[random.randrange(6)] = True  # the base: the free body and the joints close the loop

    def hybrid(*state):
        return np.concatenate(constrained_hybrid_dynamics(robot, *state, mask, held))

    led = constrained_hybrid_dynamics_derivatives(robot, q, s.v, s.a, s.tau, mask, held)
    expected = differences(robot, hybrid, q, s.v, s.a, s.tau)
    size = 1.0 + np.abs(hybrid(q, s.v, s.a, s.tau)).max()
    for index, theirs in enumerate(expected):
        ours = np.concatenate([led[index], led[index + 4], led[index + 8]])
        assert_close(ours, theirs, DIFFERENCE, 10.0 * size)

    def struck(*state):
        return np.concatenate(impact(robot, *state, held, 0.4))

    found = impact_derivatives(robot, q, s.v, held, 0.4)
    size = 1.0 + np.abs(struck(q, s.v)).max()
    for of_v, of_impulses, theirs in zip(found[:2], found[2:], differences(robot, struck, q, s.v)):
        assert_close(np.concatenate([of_v, of_impulses]), theirs, DIFFERENCE, 10.0 * size)


@pytest.mark.parametrize('criterion', ['minimum_torque', 'minimum_constraint_force'])
@pytest.mark.parametrize('kind', ['loop', 'contact', 'function'])
@examples(2)
@given(robots(['floating'], (3, 4)), SEEDS)
@pytest.mark.few(3)
def test_torques_of_a_motion_in_contact(criterion, kind, robot, seed):
    """Against differences of [Lie] eq. 57 and 59 to 64, written out for any q, v and a."""
    robot, q, held = held_and_stabilized(robot, seed, kind)
    s = random_state(robot, seed)
    a = consistent_acceleration(robot, q, s.v, s.a, held)
    active = np.ones(robot.nv, bool)
    active[np.linalg.norm(constraint_jacobian(robot, q, held), axis=0).argmax()] = False
    passive = np.linspace(-1.0, 1.0, robot.nv)
    wrenches = wrenches_on(robot, seed)
    options = {'criterion': criterion, 'passive_torques': passive, 'external_wrenches': wrenches}

    def needed(q, v, a):
        J = constraint_jacobian(robot, q, held)
        n = robot.inverse_dynamics(q, v, a, wrenches) - np.where(active, 0.0, passive)
        A, B = J[:, ~active].T, J[:, active].T
        f = np.linalg.pinv(A) @ n[~active]
        if criterion == 'minimum_torque':
            N = np.eye(len(J)) - np.linalg.pinv(A) @ A
            f = f + np.linalg.pinv(B @ N, rcond=1e-9) @ (n[active] - B @ f)
        tau = passive.copy()
        tau[active] = n[active] - B @ f
        return np.concatenate([tau, f])

    tau, forces = constrained_inverse_dynamics(robot, q, s.v, a, held, active, **options)
    size = 1.0 + np.abs(needed(q, s.v, a)).max()
    assert_close(np.concatenate([tau, forces]), needed(q, s.v, a), LAW * 1e3, size)
    found = constrained_inverse_dynamics_derivatives(
        robot, q, s.v, a, held, actuated=active, **options
    )
    for of_tau, of_f, theirs in zip(found[:3], found[3:], differences(robot, needed, q, s.v, a)):
        assert_close(np.concatenate([of_tau, of_f]), theirs, DIFFERENCE, 10.0 * size)


def test_hybrid_dynamics_without_contacts_at_its_ends(anymal):
    s = random_state(anymal, 0)
    ends = []
    for mask in np.zeros(anymal.nv, bool), np.ones(anymal.nv, bool):
        ends.append(constrained_hybrid_dynamics_derivatives(anymal, s.q, s.v, s.a, s.tau, mask, []))
    free, led = ends
    forward = anymal.forward_dynamics_derivatives(s.q, s.v, s.tau)
    for ours, theirs in zip((free.a_dq, free.a_dv, free.a_dtau), forward, strict=True):
        assert_close(ours, theirs, LAW * 10, 10.0)
    inverse = anymal.inverse_dynamics_derivatives(s.q, s.v, s.a)
    for ours, theirs in zip((led.tau_dq, led.tau_dv, led.tau_da), inverse, strict=True):
        assert_close(ours, theirs)


def test_torques_that_are_not_unique_have_no_derivatives(anymal):
    s = random_state(anymal, 0)
    still, feet = 0.0 * s.v, ['LF_FOOT', 'RF_FOOT', 'LH_FOOT']
    for contacts, told in (([*feet, 'LH_FOOT'], 'rank 9 where 12'), (feet, None)):
        if told is None:
            derivatives = constrained_inverse_dynamics_derivatives(
                anymal, s.q, still, still, contacts
            )
            assert_close(derivatives.tau_dq[:6], np.zeros((6, anymal.nv)))
            continue
        with pytest.raises(RankDeficientError, match=told):
            constrained_inverse_dynamics_derivatives(anymal, s.q, still, still, contacts)
    everything = np.ones(anymal.nv, bool)
    at_rest = constrained_inverse_dynamics_derivatives(
        anymal, s.q, still, still, feet, actuated=everything, criterion='minimum_constraint_force'
    )
    for ours, theirs in zip(
        at_rest, anymal.inverse_dynamics_derivatives(s.q, still, still), strict=False
    ):
        assert_close(ours, theirs)


def test_a_batch_of_derivatives(anymal):
    s, others = random_state(anymal, 0), random_state(anymal, 1)
    held = [Stabilized(Contact('LF_FOOT', anchor=(0.3, 0.2, 0.0)), 5.0), 'RH_FOOT']
    many = constrained_forward_dynamics_derivatives(
        anymal, np.stack([s.q, others.q]), 0.0 * s.v, s.tau, held
    )
    one = constrained_forward_dynamics_derivatives(anymal, others.q, 0.0 * s.v, s.tau, held)
    for batch, single in zip(many, one, strict=True):
        assert_close(batch[1] if batch.ndim > 2 else batch, single)


def test_a_constraint_of_unknown_derivatives_is_refused(anymal):
    s = random_state(anymal, 0)
    with pytest.raises(InvalidArgumentError, match='contacts'):
        anymal.constrained_forward_dynamics_derivatives(s.q, s.v, s.tau, OfAUser())


class OfAUser:
    """A constraint of a user's own class."""

    rows = 1

    def jacobian(self, robot, q):
        return np.ones((1, robot.nv))

    def bias(self, robot, q, v):
        return np.zeros(1)
