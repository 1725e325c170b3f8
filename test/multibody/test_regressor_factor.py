# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The R factor of the regressor is that of numpy.linalg.qr, for any robot and any columns."""

from __future__ import annotations

import time

import numpy as np
import pytest
from arm import ROBOT
from random_robots import random_robot
from tolerances import EXACT

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.identification.bodies.base_parameters import BaseParameters, with_rotors
from dynamics_ros.kernels.process import compile_queue
from dynamics_ros.multibody.written_methods import LANES

BASE = BaseParameters.of(ROBOT)


@pytest.fixture(scope='module', autouse=True)
def compiled():
    """Wait for the compiler at the end: beside it, other tests start with plain Python."""
    yield
    end = time.monotonic() + 60.0
    while compile_queue.is_busy() and time.monotonic() < end:
        time.sleep(0.01)


def states(robot, count, seed=0):
    """q, v, a, tau of random states."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.random_configuration(rng) for _ in range(count)])
    return q, *rng.normal(size=(3, count, robot.nv))


def by_numpy(robot, q, v, a, tau=None, weights=1.0, columns=None):
    Y = with_rotors(robot.regressor(q, v, a), a)
    Y = Y[..., : 10 * len(robot.body_names)] if columns is None else Y[..., columns]
    if tau is not None:
        Y = np.concatenate([Y, tau[..., np.newaxis]], axis=-1)
    rows = (Y * np.broadcast_to(weights, v.shape)[..., np.newaxis]).reshape(-1, Y.shape[-1])
    R = np.linalg.qr(np.vstack([rows, np.zeros((Y.shape[-1], Y.shape[-1]))]), mode='r')
    return R * np.copysign(1.0, np.diag(R))[:, np.newaxis]


def assert_same(found, wanted):
    assert found.shape == wanted.shape
    assert np.array_equal(found, np.triu(found))
    assert np.abs(found - wanted).max() < EXACT * np.abs(wanted).max()


@pytest.mark.parametrize('count', [1, LANES - 1, LANES, LANES + 1, 5 * LANES + 3])
def test_any_number_of_states(count):
    q, v, a, tau = states(ROBOT, count)
    weights = np.random.default_rng(1).uniform(0.1, 10.0, v.shape)
    found = ROBOT.regressor_r_factor(q, v, a, tau, weights, BASE.chosen)
    wanted = by_numpy(ROBOT, q, v, a, tau, weights, BASE.chosen)
    # A few states do not tell all parameters; entries below a zero pivot are then arbitrary.
    if count == 1:
        assert np.abs(found.T @ found - wanted.T @ wanted).max() < EXACT * np.abs(wanted).max() ** 2
    else:
        assert_same(found, wanted)


@pytest.mark.parametrize('root', ['fixed', 'floating', 'planar'])
@pytest.mark.parametrize('seed', range(3))
def test_random_trees_of_all_kinds_of_joints(root, seed):
    robot = random_robot(seed, 4, root)
    q, v, a, tau = states(robot, 100, seed)
    columns = BaseParameters.of(robot).chosen
    found = robot.regressor_r_factor(q, v, a, tau, columns=columns)
    assert_same(found, by_numpy(robot, q, v, a, tau, columns=columns))


def test_factors_of_parts_make_the_factor_of_the_whole():
    q, v, a, tau = states(ROBOT, 300)
    parts = [
        ROBOT.regressor_r_factor(*(x[own] for x in (q, v, a, tau)), columns=BASE.chosen)
        for own in (slice(120), slice(120, None))
    ]
    R = np.linalg.qr(np.vstack(parts), mode='r')
    R *= np.copysign(1.0, np.diag(R))[:, np.newaxis]
    assert_same(R, ROBOT.regressor_r_factor(q, v, a, tau, columns=BASE.chosen))


def test_least_squares_keeps_digits_that_normal_equations_lose():
    q, v, a, _ = states(ROBOT, 400)
    # Nearly all information is in the efforts of one joint, which do not depend on all parameters.
    weights = np.where(np.arange(ROBOT.nv) == 0, 1.0, 1e-9)
    true = np.random.default_rng(2).normal(size=len(BASE))
    tau = BASE.columns(ROBOT.regressor(q, v, a), a) @ true
    R = ROBOT.regressor_r_factor(q, v, a, tau, weights, BASE.chosen)
    found = np.linalg.solve(R[:-1, :-1], R[:-1, -1])
    G = R.T @ R
    normal = np.linalg.solve(G[:-1, :-1], G[:-1, -1])
    assert np.abs(found - true).max() < 1e-3 * np.abs(normal - true).max()
    assert np.abs(found - true).max() < 1e-5


@pytest.mark.parametrize(
    ('argument', 'value', 'expected'),
    [
        ('columns', [], 'no index.*one index or more'),
        ('columns', [0, 77], r'indices of parameters, from 0 to 76'),
        ('columns', [-1], r'indices of parameters, from 0 to 76'),
        ('columns', [3, 3], 'an index twice'),
        ('weights', [1.0, 2.0], r'shape \(\.\.\., 7\)'),
        ('tau', [np.nan] * 7, 'finite numbers'),
        ('v', [1e200] * 7, 'smaller ones: the results overflow'),
    ],
)
def test_wrong_arguments_are_named(argument, value, expected):
    q, v, a, tau = states(ROBOT, 3)
    given = {'q': q, 'v': v, 'a': a, 'tau': tau, 'columns': BASE.chosen[::4], argument: value}
    with pytest.raises(InvalidArgumentError, match=expected) as raised:
        ROBOT.regressor_r_factor(**given)
    assert argument in str(raised.value)
