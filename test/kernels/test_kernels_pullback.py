# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A pullback is the transposed derivative times weights, of every input at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from patience import examples
from random_robots import SEEDS, random_robot, random_urdf
from tolerances import EXACT

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import compile


def by_derivatives(kernel, arrays, weights):
    """The same from the derivatives of each output by each input."""
    traced = kernel.trace
    gradients = []
    for x in traced.arguments:
        total = np.zeros(x.shape)
        for y, w in zip(traced.outputs, weights, strict=True):
            J = kernel.derivative(x.name, y.name)(*arrays)
            total = total + np.tensordot(w, J, axes=len(y.shape))
        gradients.append(total)
    return gradients


def assert_pulls_back(kernel, arrays, seed):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=x.shape) for x in kernel.trace.outputs]
    found = kernel.pullback()(*arrays, *weights)
    found = found if isinstance(found, tuple) else (found,)
    for one, wanted in zip(found, by_derivatives(kernel, arrays, weights), strict=True):
        scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
        np.testing.assert_allclose(one, wanted, rtol=0.0, atol=100 * EXACT * scale)


@examples(5)
@given(SEEDS)
def test_of_the_dynamics_of_random_robots(seed):
    robot = random_robot(seed, joints=4)
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng)
    v, a = rng.normal(size=(2, robot.nv))
    assert_pulls_back(robot.kernel('inverse_dynamics'), (q, v, a), seed)
    assert_pulls_back(robot.kernel('jacobian', robot.frame_names[-1], 'world'), (q,), seed)


def test_of_several_outputs_and_a_scalar():
    kernel = compile(
        lambda x, s: {'y': s * x @ x, 'z': [[x[0], 2.0], [s, x[1] * x[2]]]},
        {'x': 3, 's': ()},
        'function',
    )
    assert_pulls_back(kernel, (np.array([0.3, -0.2, 0.7]), 1.5), 0)


def test_of_a_batch_and_of_a_pullback():
    kernel = compile(lambda x: np.sin(x) * x[0], {'x': 3}, 'function')
    twice = kernel.pullback().pullback()
    assert [x.name for x in twice.trace.arguments] == ['x', 'w_result', 'w_d_x']
    assert_pulls_back(kernel.pullback(), (np.array([0.3, -0.2, 0.7]), np.ones(3)), 1)
    x, w = np.random.default_rng(0).normal(size=(2, 40, 3))
    rows = [kernel.pullback()(*row) for row in zip(x, w)]
    np.testing.assert_allclose(kernel.pullback()(x, w), rows, rtol=1e-13)


def test_payload_and_quaternions_count_as_in_the_kernel():
    robot = Robot.from_urdf(random_urdf(5), root_joint='floating').adjustable('link_5')
    loaded = robot.with_payload('link_5', 2.0)
    q = robot.random_configuration(np.random.default_rng(0))
    kernel = loaded.kernel('gravity')
    w = np.ones(robot.nv)
    assert np.abs(kernel.pullback()(q, w) - robot.kernel('gravity').pullback()(q, w)).max() > 1e-3
    assert_pulls_back(kernel, (q,), 3)
    q[3] += 0.1
    with pytest.raises(InvalidArgumentError, match='unit quaternion'):
        kernel.pullback()(q, w)
