# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""q-dot = F(q) v and back, on random trees and against Pinocchio ([Kindr], [RD] 2.10.1)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from hypothesis import given
from laws import assert_close, rate
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import DIFFERENCE, DIFFERENCE_STEP, EXACT

from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.robots import urdf_path
from dynamics_ros import Robot

FEW = examples(8)


@FEW
@given(robots(), SEEDS)
def test_the_rate_is_the_time_derivative_of_the_coordinates(robot, seed):
    s = random_state(robot, seed)
    q_rate = robot.configuration_rate(s.q, s.v)
    assert_close(q_rate, rate(lambda q, v: q, robot, s, s.a), DIFFERENCE)
    assert_close(q_rate, robot.rate_map(s.q) @ s.v, EXACT)


@FEW
@given(robots(), SEEDS)
def test_the_maps_are_inverse_on_the_manifold(robot, seed):
    s = random_state(robot, seed)
    E, F = robot.rate_map_inverse(s.q), robot.rate_map(s.q)
    assert E.shape == (robot.nv, robot.nq)
    assert_close(E @ F, np.eye(robot.nv), EXACT)
    q_rate = np.random.default_rng(seed).normal(size=robot.nq)
    v = robot.velocity_of_rate(s.q, q_rate)
    assert_close(v, E @ q_rate, EXACT)
    # F E drops what would lengthen the quaternion and keeps all else.
    missing = q_rate - F @ v
    if robot.model.root_joint == 'floating':
        along = missing[3:7] @ s.q[3:7] * s.q[3:7]
        assert_close(missing[3:7], along, EXACT)
        missing[3:7] = 0.0
    assert_close(missing, np.zeros(robot.nq), EXACT)


@FEW
@given(robots(roots=('floating',)), SEEDS)
def test_a_base_has_the_map_of_the_cheat_sheet_behind_its_rotation(robot, seed):
    """[Kindr] gives the base velocity in the inertial frame: F = F_kindr diag(R, 1, 1)."""
    q = random_state(robot, seed).q
    x, y, z, w = q[3:7]
    R = robot.forward_kinematics(q, robot.body_names[0])[:3, :3]
    H_bar = np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])  # of q = (w, x, y, z)
    expected = np.eye(robot.nq)[:, : robot.nv]
    expected[:, 6:] = np.eye(robot.nq)[:, 7:]
    expected[:7, :6] = 0.0
    expected[:3, :3] = R
    expected[[6, 3, 4, 5], 3:6] = 0.5 * H_bar.T
    assert_close(robot.rate_map(q), expected, EXACT)


def test_it_is_the_rate_along_which_pinocchio_integrates():
    text = urdf_path('ur5').read_text()
    robot = Robot.from_urdf(text, 'floating', backend='python')
    peer = PinocchioPeer(text, robot)
    q, v = robot.random_configuration(5), np.random.default_rng(5).normal(size=robot.nv)
    theirs, step = peer.configuration(q), DIFFERENCE_STEP * peer.velocity(v)
    ahead, behind = (pin.integrate(peer.model, theirs, sign * step) for sign in (1.0, -1.0))
    expected = (ahead - behind) / (2.0 * DIFFERENCE_STEP)
    assert_close(robot.configuration_rate(q, v), expected, DIFFERENCE)
