# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of position and velocity whose sum is friction that the model does not have."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics_ros.identification.random_effects import UnmodelledFriction, groups

FRICTION = UnmodelledFriction(np.array([-1.0, 0.0]), np.array([0.8, 0.05]), 0.01)


@pytest.fixture
def motion():
    rng = np.random.default_rng(0)
    q = rng.uniform(FRICTION.lowest, FRICTION.highest, (2000, 2))
    v = rng.choice([-1.0, 1.0], q.shape) * np.exp(rng.uniform(np.log(0.02), 0.0, q.shape))
    return q, v


@pytest.mark.parametrize(
    ('name', 'torque'),
    [
        ('ripple', lambda q, v: np.sin(35.0 * q + 1.0)),
        ('dry friction by position', lambda q, v: np.tanh(v / 0.01) * (1.0 + np.sin(7.0 * q))),
        ('Stribeck', lambda q, v: np.tanh(v / 0.01) * np.exp(-((v / 0.2) ** 2))),
        ('asymmetric', lambda q, v: np.where(v > 0.0, np.sqrt(np.abs(v)), 0.3 * v)),
    ],
)
def test_friction_of_several_kinds_is_a_sum_of_the_functions(motion, name, torque):
    q, v = motion
    columns, right = FRICTION(q, v)[:, 0, :-1], torque(q[:, 0], v[:, 0])
    left = right - columns @ np.linalg.lstsq(columns, right, rcond=None)[0]
    assert np.sqrt(np.mean(left**2)) < 0.05 * np.sqrt(np.mean(right**2)), name


def test_every_function_has_a_variance_and_the_direction_is_last(motion):
    q, v = motion
    columns = FRICTION(q, v)
    assert columns.shape == (*q.shape, len(groups()) + 1)
    assert columns[..., -1] == pytest.approx(np.tanh(v / 0.01))
    assert set(groups()) == set(range(groups().max() + 1))


def test_functions_are_finite_at_rest_and_of_a_joint_that_hardly_moves():
    assert np.isfinite(FRICTION(np.zeros((3, 2)), np.zeros((3, 2)))).all()
