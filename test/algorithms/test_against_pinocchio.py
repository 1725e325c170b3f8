# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every quantity agrees with Pinocchio, on real robots, fixed and floating, on both back ends."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import AGAINST_PINOCCHIO

from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.robots import urdf_path
from dynamics_ros import Robot

ROBOTS = ('panda', 'ur5', 'xarm7', 'kinova')
REFERENCES = ('world', 'local', 'local_world_aligned')


@pytest.fixture(
    scope='module',
    params=[
        (name, root, backend)
        for name in ROBOTS
        for root in ('fixed', 'floating')
        for backend in ('llvm', 'python')
    ],
    ids=lambda parameters: '-'.join(parameters),
)
def pair(request):
    """One of our robots and Pinocchio on the same description."""
    name, root, backend = request.param
    text = urdf_path(name).read_text()
    robot = Robot.from_urdf(text, root, backend=backend)
    return robot, PinocchioPeer(text, robot)


@pytest.fixture
def state(pair):
    """A random state: q, v, a, tau and two wrenches."""
    robot, _ = pair
    rng = np.random.default_rng(7)
    q = robot.random_configuration(rng)
    v, a, tau = rng.normal(size=(3, robot.nv))
    middle = robot.frame_names[len(robot.frame_names) // 2]
    wrenches = {middle: rng.normal(size=6), robot.frame_names[-1]: rng.normal(size=6)}
    return q, v, a, tau, wrenches


def assert_agrees(ours, theirs):
    scale = max(1.0, float(np.abs(theirs).max()))
    assert np.shape(ours) == np.shape(theirs)
    assert np.abs(ours - theirs).max() <= AGAINST_PINOCCHIO * scale


def test_the_robot_runs_on_the_back_end_that_was_asked_for(pair, state, request):
    robot, _ = pair
    robot.gravity(state[0])
    assert robot.kernels['gravity()'].backend == request.node.callspec.params['pair'][2]


def test_masses_and_poses(pair, state):
    robot, peer = pair
    q = state[0]
    assert robot.total_mass == pytest.approx(sum(i.mass for i in peer.model.inertias[1:]))
    poses = dict(zip(robot.frame_names, robot.all_frames(q), strict=True))
    assert len(peer.frames) == len(robot.frame_names)
    for frame in peer.frames:
        assert_agrees(poses[frame], peer.forward_kinematics(q, frame))
    frame = robot.frame_names[-1]
    assert_agrees(robot.forward_kinematics(q, frame), peer.forward_kinematics(q, frame))


@pytest.mark.parametrize('reference', REFERENCES)
def test_jacobians_velocities_and_accelerations_of_frames(pair, state, reference):
    robot, peer = pair
    q, v, a, *_ = state
    for frame in (robot.frame_names[len(robot.frame_names) // 2], robot.frame_names[-1]):
        J = peer.jacobian(q, frame, reference)
        assert_agrees(robot.jacobian(q, frame, reference), J)
    assert_agrees(robot.frame_velocity(q, v, frame, reference), J @ v)
    J_dot = peer.jacobian_derivative(q, v, frame, reference)
    assert_agrees(robot.frame_acceleration(q, v, a, frame, reference), J @ a + J_dot @ v)


SAME = {
    'inverse_dynamics': 'qva',
    'forward_dynamics': 'qvt',
    'gravity': 'q',
    'nonlinear_effects': 'qv',
    'coriolis': 'qv',
    'mass_matrix': 'q',
    'mass_matrix_inverse': 'q',
    'kinetic_energy': 'qv',
    'potential_energy': 'q',
    'center_of_mass': 'q',
}
"""Methods of both, and their arguments."""


@pytest.mark.parametrize('name', SAME)
def test_quantities(pair, state, name):
    robot, peer = pair
    *vectors, wrenches = state
    arguments = [vectors['qvat'.index(x)] for x in SAME[name]]
    ours, theirs = getattr(robot, name), getattr(peer, name)
    assert_agrees(ours(*arguments), theirs(*arguments))
    if name in ('inverse_dynamics', 'forward_dynamics'):
        assert_agrees(ours(*arguments, wrenches), theirs(*arguments, wrenches))


def test_momentum_observer_terms(pair, state):
    robot, peer = pair
    q, v, *_ = state
    p, beta = robot.momentum_observer_terms(q, v)
    assert_agrees(p, peer.mass_matrix(q) @ v)
    assert_agrees(beta, peer.coriolis(q, v).T @ v - peer.gravity(q))
