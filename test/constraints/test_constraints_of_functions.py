# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Constraints by functions, springs and actuators between links, wrenches beside constraints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import assert_close, rate
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import DIFFERENCE, LAW

from dynamics_ros import Robot
from dynamics_ros.constraints import (
    ConfigurationConstraint,
    Contact,
    ElasticElement,
    LinearConstraint,
    actuator_torques,
    closed_state,
    consistent_acceleration,
    constrained_forward_dynamics,
    constrained_hybrid_dynamics,
    constrained_inverse_dynamics,
    constraint_jacobian,
    contact_forces,
)
from dynamics_ros.errors import InvalidArgumentError

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
    mine, contact = place(robot, frame), Contact(frame)
    assert_close(mine.residual(robot, s.q), contact.position(robot, s.q))
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
    with pytest.raises(InvalidArgumentError, match='rate'):
        LinearConstraint(1, lambda q: q[None], lambda q, v: q[:1], target=lambda q: q[:1])
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
    with pytest.raises(InvalidArgumentError, match='stiffness'):
        ElasticElement(lambda q: q[0], -1.0)


@few
@given(trees, SEEDS)
def test_a_spring_gives_its_energy_back(robot, seed):
    s, (one, other) = random_state(robot, seed), (robot.frame_names[0], robot.frame_names[-1])

    def height(q):
        poses = [robot.forward_kinematics(q, x) for x in (one, other)]
        return poses[1][2, 3] - 0.5 * poses[0][2, 3] + q[-1]

    spring = ElasticElement(height, 40.0, rest=0.1)
    power = -spring.torques(robot, s.q) @ s.v
    assert_close(rate(lambda q, v: spring.energy(robot, q), robot, s, s.a), power, DIFFERENCE)
    damped = ElasticElement(height, 0.0, damping=3.0)
    assert damped.torques(robot, s.q, s.v) @ s.v <= 0.0
    assert_close(damped.torques(robot, s.q), np.zeros(robot.nv))


@few
@given(trees, SEEDS)
def test_an_actuator_between_links_is_two_opposite_wrenches(robot, seed):
    s, (one, other) = random_state(robot, seed), (robot.frame_names[0], robot.frame_names[-1])
    tau = actuator_torques(robot, s.q, WRENCH, other, one)
    wrenches = {}
    for frame, sign in ((other, 1.0), (one, -1.0)):
        R = robot.forward_kinematics(s.q, frame)[:3, :3]
        wrenches[frame] = sign * np.concatenate([R.T @ WRENCH[:3], R.T @ WRENCH[3:]])
    assert_close(tau, robot.wrench_torques(s.q, wrenches), LAW)


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
    spring = ElasticElement(lambda q: q[1], 30.0)
    a = consistent_acceleration(arm, q, v, np.ones(7), 'tool0')
    options = {'actuated': active, 'criterion': criterion, 'external_wrenches': {'tool0': WRENCH}}
    passive = spring.torques(arm, q)
    tau, force = constrained_inverse_dynamics(
        arm, q, v, a, 'tool0', passive_torques=passive, **options
    )
    assert_close(tau[~active], passive[~active])
    J = constraint_jacobian(arm, q, 'tool0')
    assert_close(arm.inverse_dynamics(q, v, a, {'tool0': WRENCH}), tau + J.T @ force, 1e-8)
    without = arm.constrained_inverse_dynamics(q, v, a, 'tool0', **options)
    assert not np.allclose(without[1], force)
