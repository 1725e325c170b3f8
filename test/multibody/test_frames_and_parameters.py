# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of poses and their rates."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import EXACT

from dynamics_ros.errors import SingularParametrizationError
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
