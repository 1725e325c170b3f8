# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinds of constraints, also by functions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from random_robots import SEEDS, random_robot, random_state, robots
from tolerances import DIFFERENCE, DIFFERENCE_STEP, LAW

from dynamics_ros import Robot
from dynamics_ros.constraints import (
    ClosedLoop,
    ConfigurationConstraint,
    Contact,
    LinearConstraint,
    Stabilized,
    closed_state,
    consistent_acceleration,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
    constraint_jacobian,
    contact_forces,
    support_projector,
)
from dynamics_ros.control import WholeBodyProblem
from dynamics_ros.errors import InfeasibleError, InvalidArgumentError

FEW = examples(8)

CRANK, COUPLER, CRANK_MASS, COUPLER_MASS, GRAVITY = 0.3, 0.8, 0.4, 0.7, 9.81


def bar(name, length, mass):
    """A uniform thin rod along x."""
    inertia = mass * length**2 / 12.0
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="1e-6" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link>'
    )


def hinge(name, parent, child, xyz):
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="0 -1 0"/></joint>'
    )


PARALLELOGRAM = f"""<robot name="parallelogram"><link name="base"/>
  {bar('left', CRANK, CRANK_MASS)}{bar('top', COUPLER, COUPLER_MASS)}
  {bar('right', CRANK, CRANK_MASS)}
  {hinge('a', 'base', 'left', '0 0 0')}{hinge('b', 'left', 'top', f'{CRANK} 0 0')}
  {hinge('c', 'base', 'right', f'{COUPLER} 0 0')}</robot>"""
"""Two cranks and a coupler in the plane y = 0; the joint of coupler and second crank is cut."""

PIN = {'point': (COUPLER, 0.0, 0.0), 'other_point': (CRANK, 0.0, 0.0)}
AXES = {'axis': (0.0, -1.0, 0.0), 'other_axis': (0.0, -1.0, 0.0)}

LOOPS = {
    'position': ClosedLoop('top', 'right', **PIN),
    'revolute': ClosedLoop('top', 'right', 'revolute', **PIN, **AXES),
}


@pytest.fixture(scope='module')
def linkage():
    return Robot.from_urdf(PARALLELOGRAM)


def folded(angle, rate=0.0):
    """The parallelogram at an angle of its cranks above the horizontal."""
    return np.array([angle, -angle, angle]), np.array([rate, -rate, rate])


@pytest.mark.parametrize('kind', LOOPS)
def test_a_parallelogram_falls_as_its_one_equation_says(linkage, kind):
    """Cranks turn about their ends, the coupler moves without turning: one degree of freedom."""
    inertia = 2.0 * CRANK_MASS * CRANK**2 / 3.0 + COUPLER_MASS * CRANK**2
    weight = (CRANK_MASS + COUPLER_MASS) * GRAVITY * CRANK
    for angle, speed in ((0.3, 0.0), (1.1, 2.0), (-0.7, -1.0)):
        q, v = folded(angle, speed)
        loop = LOOPS[kind]
        assert_close(loop.gap(linkage, q), np.zeros(3 if kind == 'position' else 5))
        assert_close(constraint_jacobian(linkage, q, loop) @ v, np.zeros(loop.rows))
        a, _ = constrained_forward_dynamics(linkage, q, v, np.zeros(3), loop)
        expected = -weight * np.cos(angle) / inertia
        assert_close(a, np.array([expected, -expected, expected]))


def loop_of(robot, seed, kind):
    """A cut between two frames of a random tree that is closed in its random configuration."""
    rng = np.random.default_rng(seed)
    first, second = rng.choice(len(robot.frame_names), 2, replace=False)
    frames = robot.frame_names[first], robot.frame_names[second]
    point, axis = (tuple(map(float, x)) for x in rng.normal(size=(2, 3)))
    return ClosedLoop.closed_at(robot, random_state(robot, seed).q, *frames, kind, point, axis)


@st.composite
def trees_with(draw, kinds):
    robot = random_robot(draw(SEEDS), draw(st.integers(3, 6)), draw(ROOTS))
    return robot, draw(SEEDS), draw(st.sampled_from(kinds))


ROOTS = st.sampled_from(['fixed', 'floating', 'planar'])


@FEW
@given(trees_with(['position', 'revolute', 'pose']))
def test_the_rate_of_the_gap_is_the_jacobian_and_that_of_the_jacobian_the_bias(case):
    robot, seed, kind = case
    loop, s, h = loop_of(robot, seed, kind), random_state(robot, seed), DIFFERENCE_STEP
    assert_close(loop.gap(robot, s.q), np.zeros(loop.rows))
    ahead, behind = (robot.integrate(s.q, t * s.v) for t in (h, -h))
    J = loop.jacobian(robot, s.q)
    gap_rate = (loop.gap(robot, ahead) - loop.gap(robot, behind)) / (2.0 * h)
    assert_close(J @ s.v, gap_rate, DIFFERENCE)
    J_rate = (loop.jacobian(robot, ahead) - loop.jacobian(robot, behind)) / (2.0 * h)
    assert_close(loop.bias(robot, s.q, s.v), J_rate @ s.v, DIFFERENCE, 10.0)


@FEW
@given(trees_with(['normal']))
def test_a_normal_contact_is_the_normal_row_of_a_point(case):
    robot, seed, _ = case
    s, rng = random_state(robot, seed), np.random.default_rng(seed)
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    frame, place = robot.frame_names[-1], tuple(map(float, rng.normal(size=3)))
    point = Contact(frame, point=place)
    normal = Contact(frame, 'normal', place, tuple(2.0 * n))
    assert_close(normal.jacobian(robot, s.q), n[None] @ point.jacobian(robot, s.q))
    assert_close(normal.bias(robot, s.q, s.v), n[None] @ point.bias(robot, s.q, s.v))


@FEW
@given(trees_with(['revolute', 'normal', 'position', 'point']))
def test_the_kernel_and_the_equations_of_all_constraints_agree(case):
    robot, seed, kind = case
    s = random_state(robot, seed)
    if kind in ('revolute', 'position'):
        held = loop_of(robot, seed, kind)
    else:
        held = Contact(robot.frame_names[-1], kind, (0.1, 0.2, 0.3), (0.6, 0.0, 0.8))
    by_hand = SimpleNamespace(rows=held.rows, jacobian=held.jacobian, bias=held.bias)
    v = support_projector(robot, s.q, held) @ s.v
    a, forces = constrained_forward_dynamics(robot, s.q, v, s.tau, held)
    expected = constrained_forward_dynamics(robot, s.q, v, s.tau, by_hand)
    assert_close(a, expected[0], LAW * 100)
    J = constraint_jacobian(robot, s.q, held)
    assert_close(J.T @ forces, J.T @ expected[1], LAW * 100, 10.0)
    assert_close(J @ a + held.bias(robot, s.q, v), np.zeros(held.rows), LAW * 100, 10.0)


FREE_LINK = """<robot name="free"><link name="base"/><link name="link"><inertial>
<origin xyz="0.1 0.05 -0.1"/><mass value="1.3"/>
<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="floating"><parent link="base"/><child link="link"/></joint></robot>"""


FOUR_BAR = Robot.from_urdf(
    PARALLELOGRAM.replace(f'xyz="{COUPLER} 0 0"/><axis', 'xyz="0.65 0 0.1"/><axis')
)
"""The same bars on a shorter ground link: no angle stays another's negative."""


@pytest.fixture(scope='module')
def swing():
    """A four-bar linkage that swings freely: its loop, its state, its energy."""
    loop = ClosedLoop('top', 'right', **PIN)
    q, v = closed_state(FOUR_BAR, np.array([0.9, -0.9, 0.7]), np.zeros(3), loop)
    return loop, q, v


def test_a_state_is_closed_by_the_least_change(swing):
    loop, q, _ = swing
    rng = np.random.default_rng(0)
    off, v = q + 1e-3 * rng.normal(size=3), rng.normal(size=3)
    closed, kept = closed_state(FOUR_BAR, off, v, loop)
    assert np.abs(loop.gap(FOUR_BAR, closed)).max() < 1e-9
    assert np.abs(closed - off).max() < 1e-2
    assert_close(kept, support_projector(FOUR_BAR, closed, loop) @ v)
    many = closed_state(FOUR_BAR, np.stack([q, off]), v, loop)[0]
    assert_close(many[1], closed)


@pytest.mark.parametrize('kind', ['point', 'normal', 'surface'])
def test_a_held_tool_stays_where_it_is_held(kind):
    """The state leaves the contact by a step; a stabilized contact brings it back."""
    arm = Robot.from_urdf(Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf')
    s, frame, point = random_state(arm, 2), 'tool0', (0.1, -0.05, 0.2)
    held = Contact.held_at(arm, s.q, frame, kind, point, (0.6, 0.0, 0.8))
    assert_close(held.residual(arm, s.q), np.zeros(held.rows))
    off = arm.integrate(s.q, 1e-6 * s.v)
    assert_close(held.residual(arm, off), 1e-6 * held.jacobian(arm, s.q) @ s.v, 1e-9)
    closed, v = closed_state(arm, arm.integrate(s.q, 1e-2 * s.v), s.v, held)
    assert np.abs(held.residual(arm, closed)).max() < 1e-9
    assert_close(held.jacobian(arm, closed) @ v, np.zeros(held.rows), LAW, 10.0)
    q, v, pull = arm.integrate(s.q, 1e-3 * s.v), np.zeros(7), Stabilized(held, 20.0)
    start = np.abs(held.residual(arm, q)).max()
    for _ in range(300):  # 0.6 s, twelve time constants
        tau = arm.nonlinear_effects(q, v) - arm.mass_matrix(q) @ v  # with some friction
        v = v + 2e-3 * constrained_forward_dynamics(arm, q, v, tau, pull)[0]
        q = arm.integrate(q, 2e-3 * v)
    assert np.abs(held.residual(arm, q)).max() < 1e-3 * start


def test_a_loop_that_cannot_be_closed_is_told():
    far = ClosedLoop('top', 'right', point=(5.0, 0.0, 0.0))
    with pytest.raises(InfeasibleError, match='closes'):
        closed_state(FOUR_BAR, np.zeros(3), np.zeros(3), far)


def test_a_normal_contact_only_pushes_in_a_whole_body_problem():
    robot = Robot.from_urdf(FREE_LINK.replace('type="floating"', 'type="fixed"'), 'floating')
    q, still = robot.neutral(), np.zeros(6)
    on_ground, at_ceiling = (Contact('link', 'normal', normal=(0, 0, z)) for z in (1, -1))
    weight = robot.contact_forces(q, still, still, on_ground)[0]
    assert weight > 1.0
    for contact, violation in ((on_ground, 0.0), (at_ceiling, weight)):
        problem = WholeBodyProblem(robot, q, still, [contact])
        motion = problem.solve([problem.friction_cones(0.5)])
        assert motion.violations[0] == pytest.approx(violation, abs=1e-6)


@pytest.mark.parametrize(
    ('make', 'told'),
    [
        (lambda: Contact('x', 'normal', normal=(0.0, 0.0, 0.0)), 'length 0'),
        (lambda: ClosedLoop('x', 'y', 'revolute', axis=(0.0, 0.0, np.nan)), 'axis'),
        (lambda: ClosedLoop('x', 'y', 'pose', rotation=2.0 * np.eye(3)), 'rotation'),
        (lambda: ClosedLoop('x', 'y', 'hinge'), 'revolute'),
        (lambda: Stabilized(Contact('x'), 1.0), 'held_at'),
        (lambda: Stabilized(3.0, 1.0), 'gap'),
        (lambda: Contact('x', anchor=(0.0, 1.0)), 'anchor'),
        (lambda: Contact('x', 'surface', rotation=2.0 * np.eye(3)), 'rotation'),
        (lambda: Stabilized(ClosedLoop('x', 'y'), 0.0), 'rate'),
    ],
)
def test_what_is_no_constraint_is_refused_with_a_reason(make, told):
    with pytest.raises(InvalidArgumentError, match=told):
        make()


ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
WRENCH = np.array([3.0, -2.0, 5.0, 0.3, -0.4, 0.2])

few = examples(6)
trees = robots(joints=(2, 4))


@pytest.fixture(scope='module')
def arm():
    return Robot.from_urdf(ARM, backend='python')


def place(robot, frame):
    return ConfigurationConstraint(3, lambda q: robot.forward_kinematics(q, frame)[:3, 3])


@few
@given(trees, SEEDS)
def test_a_place_that_is_held_by_a_function_is_a_point_contact(robot, seed):
    s, frame = random_state(robot, seed), robot.frame_names[-1]
    mine, contact = place(robot, frame), Contact(frame, anchor=(0.0, 0.0, 0.0))
    assert_close(mine.residual(robot, s.q), contact.residual(robot, s.q))
    assert_close(mine.jacobian(robot, s.q), contact.jacobian(robot, s.q))
    assert_close(mine.bias(robot, s.q, s.v), contact.bias(robot, s.q, s.v))
    assert_close(mine.drift(robot, s.q), np.zeros(3))


@few
@given(trees, SEEDS, st.floats(-2.0, 2.0))
def test_rates_of_a_rheonomic_constraint(robot, seed, t):
    s, frame = random_state(robot, seed), robot.frame_names[-1]
    moving = ConfigurationConstraint(
        1, lambda q, t: np.cos(t) * robot.forward_kinematics(q, frame)[0, 3] + t * q[-1] ** 2, 0.0
    )

    def velocity(h):
        later, q = moving.at(t + h), robot.integrate(s.q, h * s.v)
        return later.jacobian(robot, q) @ s.v + later.drift(robot, q)

    step = 1e-5
    forward, backward = (
        moving.at(t + h).residual(robot, robot.integrate(s.q, h * s.v)) for h in (step, -step)
    )
    assert_close((forward - backward) / (2.0 * step), velocity(0.0), DIFFERENCE)
    slope = (velocity(step) - velocity(-step)) / (2.0 * step)
    assert_close(moving.at(t).bias(robot, s.q, s.v), slope, 1e-5)


BALL = """<robot name="ball"><link name="ball"><inertial><mass value="2"/>
<inertia ixx="0.008" iyy="0.008" izz="0.008" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
RADIUS = 0.1
"""Of the ball [m]; its inertia is 2/5 m r^2."""


def rolling_ball(turn):
    """A ball that rolls without slipping on a table that turns at ``turn(t)`` rad/s."""
    ball = Robot.from_urdf(BALL, root_joint='floating')

    def matrix(q, t):
        J = ball.jacobian(q, 'ball', 'local_world_aligned')
        return np.stack([J[0] - RADIUS * J[4], J[1] + RADIUS * J[3], J[2]])

    def table(q, t):
        return [-turn(t) * q[1], turn(t) * q[0], 0.0]

    return ball, LinearConstraint(3, matrix, target=table, time=0.0)


def rolled(ball, rolling, q, v, seconds, step=2e-3):
    def slope(q, v, t):
        return constrained_forward_dynamics(ball, q, v, np.zeros(6), rolling.at(t))[0]

    for i in range(round(seconds / step)):  # the midpoint rule
        middle, t = ball.integrate(q, 0.5 * step * v), i * step
        half = v + 0.5 * step * slope(q, v, t)
        v, q = v + step * slope(middle, half, t + 0.5 * step), ball.integrate(q, step * half)
    return q, v


def test_a_ball_on_a_turning_table_moves_in_circles():
    """With 2/7 of the table's angular velocity, whatever its speed."""
    turn = 2.0
    ball, rolling = rolling_ball(lambda t: turn)
    start = np.array([0.3, 0.1, RADIUS, 0.0, 0.0, 0.0, 1.0])
    q, v = closed_state(ball, start, np.array([0.1, 0.2, 0.0, 0.0, 0.0, 0.3]), rolling)
    assert_close(q, start)
    rate, time = 2.0 / 7.0 * turn, 4.0
    # The velocity, turned back by a quarter, points from the centre of the circle.
    centre = q[:2] - np.array([v[1], -v[0]]) / rate
    c, s = np.cos(rate * time), np.sin(rate * time)
    expected = centre + np.array([[c, -s], [s, c]]) @ (q[:2] - centre)
    end, _ = rolled(ball, rolling, q, v, time)
    assert_close(end[:2], expected, 5e-4)
    assert end[2] == pytest.approx(RADIUS, abs=2e-3)  # of the integration


def test_misuse_of_functions_is_told(arm):
    with pytest.raises(TypeError):
        LinearConstraint(1, lambda q: q[None], lambda q, v: q[:1])  # a rate, as it was once
    with pytest.raises(InvalidArgumentError, match=r'shape \(1, 3\); expected shape \(1, 7\)'):
        LinearConstraint(1, lambda q: q[None, :3], target=lambda q: q[:1]).jacobian(
            arm, np.zeros(7)
        )
    with pytest.raises(InvalidArgumentError, match='time'):
        LinearConstraint.constant(np.ones((1, 7))).at(1.0)
    with pytest.raises(InvalidArgumentError, match='2 rows; expected 1 rows'):
        ConfigurationConstraint(1, lambda q: q[:2]).residual(arm, np.zeros(7))
    with pytest.raises(InvalidArgumentError, match='time'):
        ConfigurationConstraint(1, lambda q: q[0]).at(1.0)


@few
@given(trees, SEEDS)
def test_wrenches_beside_constraints_are_torques(robot, seed):
    s, frames = random_state(robot, seed), robot.frame_names
    wrenches = {frames[-1]: WRENCH, frames[0]: -WRENCH}
    push = robot.wrench_torques(s.q, wrenches)
    J = sum(robot.jacobian(s.q, x, 'local').T @ w for x, w in wrenches.items())
    assert_close(push, J, LAW)
    mask = np.arange(robot.nv) % 2 == 0
    a, tau = robot.hybrid_dynamics(s.q, s.v, s.a, s.tau, mask, wrenches)
    assert_close(robot.inverse_dynamics(s.q, s.v, a, wrenches), tau, LAW)
    assert_close(tau[~mask], s.tau[~mask])
    last = ConfigurationConstraint(1, lambda q: q[-1])
    a, force = constrained_forward_dynamics(robot, s.q, s.v, s.tau, last, wrenches)
    same = constrained_forward_dynamics(robot, s.q, s.v, s.tau + push, last)
    assert_close(a, same[0], LAW)
    assert_close(contact_forces(robot, s.q, s.v, s.tau, last, wrenches), same[1], LAW)
    held = last.jacobian(robot, s.q)
    assert_close(robot.inverse_dynamics(s.q, s.v, a, wrenches), s.tau + held.T @ force, LAW)
    none = np.zeros(robot.nv, dtype=bool)
    hybrid = constrained_hybrid_dynamics(robot, s.q, s.v, s.a, s.tau, none, last, wrenches)
    assert_close(hybrid[0], a, LAW)


@pytest.mark.parametrize('criterion', ['minimum_torque', 'minimum_constraint_force'])
def test_passive_torques_are_part_of_the_motion(arm, criterion):
    q, v = np.full(7, 0.4), np.zeros(7)
    active = np.array([True, False, True, False, True, True, True])
    a = consistent_acceleration(arm, q, v, np.ones(7), 'tool0')
    options = {'actuated': active, 'criterion': criterion, 'external_wrenches': {'tool0': WRENCH}}
    passive = -30.0 * q * (np.arange(7) == 1)  # a spring at the second joint
    tau, force = constrained_inverse_dynamics(
        arm, q, v, a, 'tool0', passive_torques=passive, **options
    )
    assert_close(tau[~active], passive[~active])
    J = constraint_jacobian(arm, q, 'tool0')
    assert_close(arm.inverse_dynamics(q, v, a, {'tool0': WRENCH}), tau + J.T @ force, 1e-8)
    without = arm.constrained_inverse_dynamics(q, v, a, 'tool0', **options)
    assert not np.allclose(without[1], force)
