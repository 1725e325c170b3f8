# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""JAX compiles, maps and differentiates kernels."""

from __future__ import annotations

import numpy as np
import pytest
from random_robots import random_robot

from dynamics_ros.bindings.jax_function import jax_function
from dynamics_ros.kernels import compile

jax = pytest.importorskip('jax')
jax.config.update('jax_enable_x64', True)

ROBOT = random_robot(3, joints=4)


def states(count, *leading):
    return list(np.random.default_rng(0).normal(size=(count, *leading, ROBOT.nv)))


@pytest.mark.parametrize('name', ['inverse_dynamics', 'forward_dynamics'])
def test_values_gradients_and_second_gradients(name):
    from jax.test_util import check_grads

    function, arrays = jax_function(ROBOT.kernel(name)), states(3)
    wanted = getattr(ROBOT, name)(*arrays)
    np.testing.assert_allclose(function(*arrays), wanted, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(function)(*arrays), wanted, rtol=1e-12)
    check_grads(function, arrays, order=2, modes=['rev'], rtol=1e-4)


def test_it_maps_over_states():
    function = jax_function(ROBOT.kernel('gravity'))
    (q,) = states(1, 5)
    np.testing.assert_allclose(jax.vmap(function)(q), ROBOT.gravity(q), rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.vmap(function))(q), ROBOT.gravity(q), rtol=1e-12)
    J = jax.vmap(jax.jacrev(function))(q)
    wanted = ROBOT.kernel('gravity').derivative('q')(q)
    np.testing.assert_allclose(J, wanted, rtol=1e-10, atol=1e-12)


def test_states_share_an_argument():
    function = jax_function(ROBOT.kernel('inverse_dynamics'))
    q, v = states(2, 3)
    (a,) = states(1)
    found = jax.grad(lambda x: function(q, v, x).sum())(a)
    np.testing.assert_allclose(found, ROBOT.mass_matrix(q).sum(axis=(0, 1)), rtol=1e-10)


def test_several_outputs_and_numbers():
    kernel = compile(lambda x, s: {'y': s * x @ x, 'z': x * x}, {'x': 3, 's': ()}, 'function')

    def loss(x):
        y, z = jax_function(kernel)(x, 2.0)
        return y + 3.0 * z[1]

    np.testing.assert_allclose(jax.grad(loss)(np.array([0.3, -0.2, 0.7])), [1.2, -2.0, 2.8])
