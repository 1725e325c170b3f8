# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of poses, and derivatives of forward dynamics of long chains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import EXACT, LAW

from benchmarks.descriptions import generic_chain
from dynamics_ros import Robot
from dynamics_ros.errors import (
    InvalidArgumentError,
    SingularError,
    SingularParametrizationError,
)
from dynamics_ros.multibody.end_effector import (
    analytical_jacobian,
    parameters_of_pose,
)
from dynamics_ros.spatial import POSITIONS, ROTATIONS

EVERY_ROTATION = st.sampled_from(sorted(ROTATIONS))
EVERY_POSITION = st.sampled_from(sorted(POSITIONS))
H = 1e-6
"""s between the states of a difference."""


@examples(30)
@given(robots(joints=(1, 4)), SEEDS, EVERY_ROTATION, EVERY_POSITION)
def test_its_rate_is_the_analytical_jacobian_times_the_velocity(robot, seed, turn, place):
    s, frame = random_state(robot, seed), robot.body_names[-1]
    how = ROTATIONS[turn], POSITIONS[place]
    try:
        rates = analytical_jacobian(robot, s.q, frame, *how) @ s.v
    except SingularParametrizationError:
        assume(False)
    before, after = (
        parameters_of_pose(robot.forward_kinematics(robot.integrate(s.q, t * s.v), frame), *how)
        for t in (-H, H)
    )
    change = (after - before) / (2.0 * H)
    assume(np.abs(change).max() < 1e4)  # no angle jumped by a turn, and no quaternion its sign
    assert_close(rates, change, 1e-5 * (1.0 + np.abs(rates).max() ** 2))


@examples(30)
@given(robots(joints=(1, 3)), SEEDS, EVERY_ROTATION, EVERY_POSITION)
def test_the_parameters_give_the_pose_back(robot, seed, turn, place):
    s, frame = random_state(robot, seed), robot.body_names[-1]
    rotation, position = ROTATIONS[turn], POSITIONS[place]
    X = robot.forward_kinematics(s.q, frame)
    chi = parameters_of_pose(X, rotation, position)
    assert chi.shape == (3 + len(rotation.parameters),)
    assert_close(position.to_cartesian(chi[:3]), X[:3, 3], EXACT * (1.0 + np.abs(X).max()))
    assert_close(rotation.to_matrix(chi[3:]), X[:3, :3], 1e-7)


JOINTS = 40

FEW = examples(4)


@pytest.fixture(scope='module')
def long_chain():
    return Robot.from_urdf(generic_chain(JOINTS), backend='llvm')


@FEW
@given(robots(), SEEDS)
def test_are_those_of_the_kernel(robot, seed):
    """Any tree, with mimic joints, moving bases and wrenches."""
    s = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    wrenches = {robot.frame_names[-1]: rng.normal(size=6)}
    for external in (None, wrenches):
        expected = robot.forward_dynamics_derivatives(s.q, s.v, s.tau, external)
        found = robot._solved_derivatives(s.q, s.v, s.tau, external, None)
        for ours, kernels in zip(found, expected, strict=True):
            assert_close(ours, kernels, LAW, 10.0)


def test_batches_lists_and_given_arrays(long_chain):
    q, v, tau = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 2, JOINTS))
    found = long_chain.forward_dynamics_derivatives(q, v, tau)
    out = tuple(np.empty((JOINTS, JOINTS)) for _ in range(3))
    for i in range(2):
        one = long_chain.forward_dynamics_derivatives(list(q[i]), v[i], tau[i], out=out)
        for array, given_array, several in zip(one, out, found, strict=True):
            assert array is given_array
            np.testing.assert_allclose(array, several[i], atol=1e-9 * np.abs(several).max())


def test_wrong_arguments_are_named(long_chain):
    zeros = np.zeros(JOINTS)
    for position, name in enumerate(('q', 'v', 'tau')):
        for wrong, said in ((np.zeros(2), 'shape'), (zeros * np.nan, 'NaN')):
            arguments = [zeros, zeros, zeros]
            arguments[position] = wrong
            with pytest.raises(InvalidArgumentError, match=f'{name}: {said}'):
                long_chain.forward_dynamics_derivatives(*arguments)
    with pytest.raises(InvalidArgumentError, match=r'^v: .*overflow'):
        long_chain.forward_dynamics_derivatives(zeros, zeros + 1e200, zeros)
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    massless = f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>'
    with pytest.raises(SingularError, match='moves nothing'):
        Robot.from_urdf(massless)._solved_derivatives(*np.zeros((3, 1)), None, None)
