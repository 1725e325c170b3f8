# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pose of a frame as a vector chi_e(q), in every parametrization that there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from laws import assert_close
from patience import examples
from random_robots import SEEDS, random_robot, random_state, robots
from tolerances import EXACT

from dynamics_ros.errors import (
    InvalidArgumentError,
    SingularParametrizationError,
    UnknownFrameError,
)
from dynamics_ros.multibody.end_effector import (
    analytical_jacobian,
    parameters_of_pose,
    pose_parameters,
)
from dynamics_ros.spatial import EULER_ZYX, POSITIONS, ROTATIONS

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
        pose_parameters(robot, robot.integrate(s.q, t * s.v), frame, *how) for t in (-H, H)
    )
    change = (after - before) / (2.0 * H)
    assume(np.abs(change).max() < 1e4)  # no angle jumped by a turn, and no quaternion its sign
    assert_close(rates, change, 1e-5 * (1.0 + np.abs(rates).max() ** 2))


@examples(30)
@given(robots(joints=(1, 3)), SEEDS, EVERY_ROTATION, EVERY_POSITION)
def test_the_parameters_give_the_pose_back(robot, seed, turn, place):
    s, frame = random_state(robot, seed), robot.body_names[-1]
    rotation, position = ROTATIONS[turn], POSITIONS[place]
    chi = pose_parameters(robot, s.q, frame, rotation, position)
    X = robot.forward_kinematics(s.q, frame)
    assert chi.shape == (3 + len(rotation.parameters),)
    assert_close(position.to_cartesian(chi[:3]), X[:3, 3], EXACT * (1.0 + np.abs(X).max()))
    assert_close(rotation.to_matrix(chi[3:]), X[:3, :3], 1e-7)
    assert_close(parameters_of_pose(X, rotation, position), chi, 0.0)


def test_bad_input_is_named():
    robot = random_robot(1, joints=3)
    with pytest.raises(InvalidArgumentError, match='q'):
        pose_parameters(robot, np.zeros(robot.nq + 1), robot.body_names[-1], EULER_ZYX)
    with pytest.raises(UnknownFrameError, match='no_link'):
        pose_parameters(robot, robot.neutral(), 'no_link', EULER_ZYX)
