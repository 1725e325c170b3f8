# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints whose motion subspace depends on q: exact identities on random trees, and their twins."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from laws import assert_close
from patience import examples
from random_robots import MOVING, SEEDS, random_state, random_urdf
from tolerances import EXACT, LAW

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.function_joint import function_joint

FEW = examples(4)

CRANK, GROOVE = 0.07, 0.13


def turn(axis, angle):
    """(4, 4) of a turn about x, y or z."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = ((1, 2), (2, 0), (0, 1))['xyz'.index(axis)]
    X = np.eye(4).astype(object)
    X[i, i], X[i, j], X[j, i], X[j, j] = c, -s, s, c
    return X


def cardan(q):
    """A turn about x, then one about the y that has turned."""
    return turn('x', q[0]) @ turn('y', q[1])


def knee(q):
    """A turn whose axis moves on, as of two surfaces that roll."""
    X = turn('y', q[0])
    X[0, 3] = CRANK * np.sin(q[0]) + GROOVE * q[0] * q[0]
    X[2, 3] = CRANK * (1.0 - np.cos(q[0]))
    return X


CARDAN, KNEE = function_joint(cardan, ('rad', 'rad')), function_joint(knee)


@functools.lru_cache(maxsize=32)
def tree(seed, root_joint='fixed'):
    """A random tree whose second joint is a knee and whose third a cardan."""
    kinds = {'joint_2': KNEE, 'joint_3': CARDAN}
    text = random_urdf(seed, 4, MOVING)
    return Robot.from_urdf(text, root_joint, backend='python', joint_kinds=kinds)


LINK = """<link name="{}"><inertial><origin xyz="0.05 -0.1 0.2"/><mass value="{}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="-0.002"/></inertial></link>"""
JOINT = """<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/>
<origin xyz="{3}" rpy="{4}"/><axis xyz="{5}"/></joint>"""
AT = ('0.1 0.2 0.3', '0.3 -0.2 0.5')
ENDS = (
    f'<robot name="shaft">{LINK.format("base", 1.0)}{LINK.format("upper", 2.0)}'
    f'{LINK.format("lower", 1.5)}'
    + JOINT.format('shoulder', 'base', 'upper', '0 0 0.4', '0 0 0', '0 1 0')
)
ONE = JOINT.format('both', 'upper', 'lower', *AT, '1 0 0')
TWO = (
    '<link name="cross"/>'
    + JOINT.format('first', 'upper', 'cross', *AT, '1 0 0')
    + JOINT.format('second', 'cross', 'lower', '0 0 0', '0 0 0', '0 1 0')
)


@pytest.fixture(scope='module')
def pair():
    """A robot with a cardan joint, and its twin with two joints and a cross without mass."""
    one = Robot.from_urdf(
        f'{ENDS}{ONE}</robot>', 'floating', backend='python', joint_kinds={'both': CARDAN}
    )
    return one, Robot.from_urdf(f'{ENDS}{TWO}</robot>', 'floating', backend='python')


@FEW
@given(seed=SEEDS)
def test_a_cardan_joint_is_two_joints_and_a_cross_without_mass(pair, seed):
    ours, twin = pair
    s = random_state(ours, seed)
    tau = ours.inverse_dynamics(s.q, s.v, s.a)
    assert_close(tau, twin.inverse_dynamics(s.q, s.v, s.a), EXACT, 10.0)
    assert_close(ours.forward_dynamics(s.q, s.v, tau), s.a, LAW)
    assert_close(ours.coriolis(s.q, s.v) @ s.v, twin.coriolis(s.q, s.v) @ s.v, EXACT, 10.0)
    assert_close(
        ours.jacobian_derivative(s.q, s.v, 'lower', 'local_world_aligned'),
        twin.jacobian_derivative(s.q, s.v, 'lower', 'local_world_aligned'),
        EXACT,
        10.0,
    )
    for name in ('mass_matrix', 'gravity', 'com_jacobian', 'centroidal_map', 'all_frames'):
        ours_now, twins = (getattr(robot, name)(s.q) for robot in (ours, twin))
        assert_close(
            ours_now if name != 'all_frames' else ours_now[-1],
            twins if name != 'all_frames' else twins[-1],
            EXACT,
        )
    for name in ('inverse_dynamics_derivatives', 'forward_dynamics_derivatives'):
        for mine, theirs in zip(
            getattr(ours, name)(s.q, s.v, s.a), getattr(twin, name)(s.q, s.v, s.a), strict=True
        ):
            assert_close(mine, theirs, LAW, 100.0)
    for mine, theirs in zip(
        ours.momentum_observer_terms(s.q, s.v), twin.momentum_observer_terms(s.q, s.v), strict=True
    ):
        assert_close(mine, theirs, EXACT, 10.0)


@FEW
@given(seed=SEEDS)
def test_derivatives_are_those_of_the_trace(seed):
    robot = tree(seed % 3)
    s = random_state(robot, seed)
    kernel = robot.kernel('inverse_dynamics')
    found = robot.inverse_dynamics_derivatives(s.q, s.v, s.a)
    for by, matrix in zip(('q', 'v', 'a'), found, strict=True):
        assert_close(matrix, derived(robot, kernel, by)(s.q, s.v, s.a), LAW, 100.0)
    frame = robot.body_names[-1]
    columns = robot.kernel('jacobian', frame, 'world')
    assert_close(robot.jacobian_hessian(s.q, frame, 'world'), derived(robot, columns, 'q')(s.q))


_DERIVED = {}


def derived(robot, kernel, by):
    key = id(robot), kernel.name, by
    if key not in _DERIVED:
        _DERIVED[key] = robot, kernel.derivative(by)
    return _DERIVED[key][1]


@FEW
@given(seed=SEEDS)
def test_the_equations_of_motion_hold_together(seed):
    robot = tree(seed % 3)
    s = random_state(robot, seed)
    M, C = robot.mass_matrix(s.q), robot.coriolis(s.q, s.v)
    effects = robot.nonlinear_effects(s.q, s.v)
    assert_close(C @ s.v + robot.gravity(s.q), effects, LAW, 10.0)
    assert_close(M @ s.a + effects, robot.inverse_dynamics(s.q, s.v, s.a), LAW, 10.0)
    rate = derived(robot, robot.kernel('mass_matrix'), 'q')(s.q) @ s.v
    assert_close(rate, C + C.T, LAW, 10.0)
    p, beta = robot.momentum_observer_terms(s.q, s.v)
    assert_close(p, M @ s.v, LAW, 10.0)
    assert_close(beta, C.T @ s.v - robot.gravity(s.q), LAW, 10.0)
    assert_close(0.5 * s.v @ M @ s.v, robot.kinetic_energy(s.q, s.v), LAW, 10.0)
    weight = derived(robot, robot.kernel('potential_energy'), 'q')(s.q)
    assert_close(robot.gravity(s.q), weight, LAW, 10.0)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    assert_close(robot.forward_dynamics(s.q, s.v, tau), s.a, LAW, 100.0)
    assert_close(robot.regressor(s.q, s.v, s.a) @ robot.inertial_parameters(), tau, LAW, 10.0)
    mask = np.arange(robot.nv) % 2 == 0
    a, torques = robot.hybrid_dynamics(s.q, s.v, s.a, tau, mask)
    assert_close(a, s.a, LAW, 100.0)
    assert_close(torques, tau, LAW, 100.0)


@FEW
@given(seed=SEEDS)
def test_motions_of_frames_are_those_of_their_poses(seed):
    robot = tree(seed % 3)
    s = random_state(robot, seed)
    frame = robot.body_names[-1]
    J = robot.jacobian(s.q, frame)
    assert_close(J @ s.v, robot.frame_velocity(s.q, s.v, frame, 'local_world_aligned'), EXACT, 10.0)
    pose_rate = derived(robot, robot.kernel('forward_kinematics', frame), 'q')(s.q) @ s.v
    assert_close(pose_rate[:3, 3], J[:3] @ s.v, LAW, 10.0)
    J_rate = robot.jacobian_derivative(s.q, s.v, frame, 'world')
    by_q = derived(robot, robot.kernel('jacobian', frame, 'world'), 'q')(s.q)
    assert_close(J_rate, by_q @ s.v, LAW, 10.0)
    assert_close(
        robot.frame_acceleration(s.q, s.v, s.a, frame, 'world'),
        robot.jacobian(s.q, frame, 'world') @ s.a + J_rate @ s.v,
        LAW,
        10.0,
    )


@pytest.mark.parametrize(
    ('function', 'units', 'told'),
    [
        (lambda q: np.eye(3), ('rad',), r'pose of shape \(3, 3\)'),
        (lambda q: turn('x', q[0] + 1.0), ('rad',), 'at zero'),
        (lambda q: np.eye(4) * (1.0 + q[0]), ('rad',), 'rigid'),
        (cardan, ('rad', 'deg'), 'units'),
    ],
)
def test_what_is_no_joint_is_refused_with_a_reason(function, units, told):
    with pytest.raises(InvalidArgumentError, match=told):
        function_joint(function, units)
