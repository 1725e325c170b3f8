# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The plain iterations of inverse kinematics, and what their parametrizations do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from patience import examples
from random_robots import SEEDS

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.inverse_kinematics.iteration import iterate
from dynamics_ros.spatial import ROTATIONS, SPHERICAL

ARM = Robot.from_urdf(Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf', backend='python')
HOME = np.array([0.3, 0.6, -0.2, 1.0, 0.4, 0.7, -0.3])


def near(seed):
    q = HOME + np.random.default_rng(seed).uniform(-0.15, 0.15, 7)
    return ARM.forward_kinematics(q, 'tool0')


@examples(10)
@given(SEEDS)
def test_steps_of_the_inverse_arrive_in_a_few(seed):
    found = iterate(ARM, near(seed), 'tool0', HOME)
    assert found.converged and found.steps < 12
    np.testing.assert_allclose(ARM.forward_kinematics(found.q, 'tool0'), near(seed), atol=1e-7)


@examples(10)
@given(SEEDS)
def test_steps_of_the_transpose_come_nearer_without_an_inverse(seed):
    errors = [
        iterate(ARM, near(seed), 'tool0', HOME, transpose=True, max_steps=steps).error
        for steps in (0, 3, 30, 300)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1 * errors[0]


@pytest.mark.parametrize('name', ['rotation_vector', 'euler_zyx', 'quaternion'])
def test_differences_of_parameters_arrive_from_near(name):
    target = near(4)  # on this side of -pi and pi: see the next test
    found = iterate(ARM, target, 'tool0', HOME, rotation=ROTATIONS[name], position=SPHERICAL)
    assert found.converged
    np.testing.assert_allclose(ARM.forward_kinematics(found.q, 'tool0'), target, atol=1e-7)


def test_angles_across_their_seam_are_a_turn_apart_for_plain_differences():
    X_seed, X_target = (ARM.forward_kinematics(HOME, 'tool0'), near(3))
    angles = [ROTATIONS['euler_zyx'].from_matrix(X[:3, :3]) for X in (X_seed, X_target)]
    assert angles[0][2] > 3.0 and angles[1][2] < -3.0
    options = {'rotation': ROTATIONS['euler_zyx'], 'position': SPHERICAL}
    assert iterate(ARM, near(3), 'tool0', HOME, max_steps=0, **options).error > 6.0
    assert iterate(ARM, near(3), 'tool0', HOME).converged


def test_misuse_is_told():
    for options, argument in (({'gain': 0.0}, 'gain'), ({'max_steps': -1}, 'max_steps')):
        with pytest.raises(InvalidArgumentError, match=argument):
            iterate(ARM, near(1), 'tool0', HOME, **options)
    with pytest.raises(InvalidArgumentError, match='seed'):
        iterate(ARM, near(1), 'tool0', HOME[:3])
