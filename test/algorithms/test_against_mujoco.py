# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An engine that shares nothing with Pinocchio agrees as well: MuJoCo on the same description."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import AGAINST_MUJOCO

from benchmarks.descriptions import bare
from benchmarks.mujoco_peer import MujocoPeer
from benchmarks.robots import urdf_path
from dynamics_ros import Robot

ROBOTS = [
    ('xarm7', 'fixed'),
    ('ur5', 'fixed'),
    ('talos_reduced', 'fixed'),
    ('talos_reduced', 'floating'),
]


@pytest.fixture(scope='module', params=ROBOTS, ids='-'.join)
def case(request):
    """Our robot, MuJoCo's, and the state that both are in."""
    name, root = request.param
    text = bare(urdf_path(name))
    robot = Robot.from_urdf(text, root)
    rng = np.random.default_rng(11)
    state = (robot.random_configuration(rng), *rng.normal(size=(2, robot.nv)))
    frame = robot.body_names[-1]
    return robot, MujocoPeer(text, robot, frame, state), state


def assert_agrees(ours, theirs):
    scale = max(1.0, float(np.abs(theirs).max()))
    assert np.abs(ours - theirs).max() <= AGAINST_MUJOCO * scale


def test_inverse_dynamics(case):
    robot, peer, state = case
    tau = robot.inverse_dynamics(*state)
    assert_agrees(tau[-len(robot.joint_names) :], peer.joint_torques())


def test_forward_dynamics(case):
    robot, peer, (q, v, _) = case
    if robot.model.root_joint != 'fixed':
        tau = robot.inverse_dynamics(*case[2])
        theirs = peer.forward_dynamics(
            peer.q, peer.v, peer.inverse_dynamics(peer.q, peer.v, peer.a)
        )
        # Both invert their own inverse dynamics: of the same motion, in their own coordinates.
        assert_agrees(theirs, peer.a)
        assert_agrees(robot.forward_dynamics(q, v, tau), case[2][2])
        return
    tau = np.random.default_rng(12).normal(size=robot.nv)
    a = np.empty(robot.nv)
    a[peer.joints] = peer.forward_dynamics(peer.q, peer.v, tau[peer.joints])
    assert_agrees(robot.forward_dynamics(q, v, tau), a)


def test_mass_matrix_and_kinetic_energy(case):
    robot, peer, (q, v, _) = case
    M = peer.mass_matrix(peer.q)
    assert_agrees(robot.kinetic_energy(q, v), 0.5 * peer.v @ M @ peer.v)


def test_the_pose_of_the_last_body(case):
    robot, peer, (q, _, _) = case
    position, rotation = peer.forward_kinematics(peer.q)
    pose = robot.forward_kinematics(q, robot.body_names[-1])
    assert_agrees(pose[:3, 3], position)
    assert_agrees(pose[:3, :3].ravel(), rotation)
