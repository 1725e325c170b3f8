# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""JAX compiles, maps and differentiates kernels. `test_jax_function.py` runs this file."""

from __future__ import annotations

import threading
from pathlib import Path

import jax
import numpy as np
import pytest
from documents import blocks
from random_robots import random_robot, random_urdf

from dynamics_ros import Robot
from dynamics_ros.bindings.jax_function import jax_function
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import compile

jax.config.update('jax_enable_x64', True)

PLAIN = random_robot(3, joints=4)
COMPILED = Robot.from_urdf(random_urdf(3, 4), backend='llvm')
ROBOTS = pytest.mark.parametrize('robot', [PLAIN, COMPILED], ids=['python', 'llvm'])


def states(count, *leading):
    return list(np.random.default_rng(0).normal(size=(count, *leading, PLAIN.nv)))


@ROBOTS
@pytest.mark.parametrize('name', ['inverse_dynamics', 'forward_dynamics'])
def test_values_gradients_and_second_gradients(robot, name):
    from jax.test_util import check_grads

    function, arrays = jax_function(robot.kernel(name)), states(3)
    wanted = getattr(robot, name)(*arrays)
    np.testing.assert_allclose(function(*arrays), wanted, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(function)(*arrays), wanted, rtol=1e-12)
    check_grads(function, arrays, order=2, modes=['rev'], rtol=1e-4)


@ROBOTS
def test_it_maps_over_states(robot):
    function = jax_function(robot.kernel('gravity'))
    (q,) = states(1, 5)
    np.testing.assert_allclose(jax.vmap(function)(q), robot.gravity(q), rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.vmap(function))(q), robot.gravity(q), rtol=1e-12)
    J = jax.vmap(jax.jacrev(function))(q)
    wanted = robot.kernel('gravity').derivative('q')(q)
    np.testing.assert_allclose(J, wanted, rtol=1e-10, atol=1e-12)


@ROBOTS
def test_mapped_axes_meet_leading_ones_and_shared_arguments(robot):
    function = jax_function(robot.kernel('inverse_dynamics'))
    rng = np.random.default_rng(1)
    q, v, a = (rng.normal(size=(*x, robot.nv)) for x in [(2,), (5, 1), (3, 1, 2)])
    inner = jax.vmap(function, in_axes=(None, 0, None))
    found = jax.jit(jax.vmap(inner, in_axes=(None, None, 0)))(q, v, a)
    wanted = robot.inverse_dynamics(q, v[None, :, None], a[:, None])
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_several_outputs_and_numbers():
    kernel = compile(lambda x, s: {'y': s * x @ x, 'z': x * x}, {'x': 3, 's': ()}, 'function')
    x = np.array([0.3, -0.2, 0.7])

    def loss(x):
        y, z = jax_function(kernel)(x, 2.0)
        return y + 3.0 * z[1]

    np.testing.assert_allclose(jax.grad(loss)(x), [1.2, -2.0, 2.8])


def test_xla_calls_a_target_without_a_callback():
    robot = Robot.from_urdf(random_urdf(5, 4, ('revolute',)), backend='llvm')
    function = jax.jit(jax_function(robot.kernel('inverse_dynamics')))
    lowered = function.lower(*states(3)).as_text()
    assert 'dynamics_ros_' in lowered
    assert 'callback' not in lowered
    for arrays in (states(3), states(3, 40)):
        np.testing.assert_array_equal(function(*arrays), robot.inverse_dynamics(*arrays))
    assert function(*states(3, 0)).shape == (0, robot.nv)


def test_single_precision_stays():
    robot = Robot.from_urdf(random_urdf(6, 4, ('revolute',)), backend='llvm')
    function = jax.jit(jax_function(robot.kernel('inverse_dynamics')))
    for leading in ((), (), (40,)):
        arrays = [np.float32(x) for x in states(3, *leading)]
        found = function(*arrays)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, robot.inverse_dynamics(*arrays), rtol=1e-3, atol=1e-4)
    huge = np.float32([1e20] * 4)
    (q,) = states(1)
    # In single precision squares are beyond all numbers; kernels compute in double.
    wanted = robot.inverse_dynamics(q, huge, huge)
    with np.errstate(over='ignore'):
        np.testing.assert_allclose(
            function(np.float32(q), huge, huge), np.float32(wanted), rtol=1e-3
        )


@ROBOTS
def test_a_state_that_is_refused_is_told_and_the_next_one_computed(robot):
    function, (q, v, a) = jax.jit(jax_function(robot.kernel('inverse_dynamics'))), states(3)
    for leading in ((), (3,), (40,)):
        wrong = np.broadcast_to(q, leading + q.shape).copy()
        wrong[..., 2] = np.nan
        with pytest.raises(Exception, match=r'q: nan at .*; expected finite numbers'):
            function(wrong, v, a).block_until_ready()
        right = np.broadcast_to(q, leading + q.shape)
        wanted = robot.inverse_dynamics(right, v, a)
        np.testing.assert_allclose(function(right, v, a), wanted, rtol=1e-12)


def test_a_wrong_shape_is_refused():
    kernel = COMPILED.kernel('gravity')
    with pytest.raises(InvalidArgumentError, match=r'q: shape \(5,\)'):
        jax_function(kernel)(np.zeros(5))
    with pytest.raises(InvalidArgumentError, match=r'q: shape \(\); expected shape \(..., 4\)'):
        jax_function(kernel)(1.0)
    with pytest.raises(InvalidArgumentError, match=r'q: dtype complex128; expected real numbers'):
        jax_function(kernel)(np.zeros(4, complex))
    with pytest.raises(TypeError, match=r'gravity\(\) takes 1 arrays \(q\), got 2'):
        jax_function(kernel)(np.zeros(4), np.zeros(4))


@pytest.mark.parametrize('dtype', [np.float64, np.float32])
def test_bound_inputs_are_those_of_each_kernel(dtype):
    adjustable = COMPILED.adjustable()
    robots = [adjustable.with_gravity([0.0, 0.0, g]) for g in (-9.81, 3.0)]
    functions = [jax.jit(jax_function(robot.kernel('gravity'))) for robot in robots]
    for leading in ((), (50,), (50,), ()):
        (q,) = states(1, *leading)
        for robot, function in zip(robots, functions):
            found = function(q.astype(dtype))
            tolerance = 1e-12 if dtype == np.float64 else 1e-4
            np.testing.assert_allclose(found, robot.gravity(q), atol=tolerance, rtol=tolerance)


def test_threads_call_one_function():
    function, arrays = jax.jit(jax_function(COMPILED.kernel('forward_dynamics'))), states(3, 20)
    wanted = COMPILED.forward_dynamics(*arrays)
    found = {}

    def work(i):
        found[i] = [np.asarray(function(*(x[i] for x in arrays))) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        np.testing.assert_allclose(found[i], [wanted[i]] * 50, rtol=1e-12)


def test_where_xla_takes_no_target_it_calls_python(monkeypatch, caplog):
    def refused(*_, **__):
        raise ValueError('an unknown version')

    robot = Robot.from_urdf(random_urdf(7, 4, ('revolute',)), backend='llvm')
    monkeypatch.setattr(jax.ffi, 'register_ffi_target', refused)
    arrays, function = states(3, 5), jax_function(robot.kernel('inverse_dynamics'))
    for mapped in (jax.jit(jax.vmap(function)), function):
        np.testing.assert_allclose(mapped(*arrays), robot.inverse_dynamics(*arrays), rtol=1e-12)
    (record,) = caplog.records
    assert 'inverse_dynamics by pure_callback, slower: an unknown version' in record.getMessage()


def test_what_is_no_kernel_is_refused():
    for wrong in (3, PLAIN.gravity, None):
        with pytest.raises(InvalidArgumentError, match=r"kernel: a .*robot.kernel\('gravity'\)"):
            jax_function(wrong)


def test_the_lines_of_the_documentation_give_derivatives():
    page = Path(__file__).parents[2] / 'docs' / 'kernels.md'
    (lines,) = (block.text for block in blocks(page, 'py') if 'import jax' in block.text)
    names = {'robot': PLAIN, 'many': states(1, 5)[0]}
    exec(lines, names)
    assert names['slopes'].shape == (5, PLAIN.nv, PLAIN.nq)
    wanted = PLAIN.kernel('gravity').derivative('q')(names['many'])
    np.testing.assert_allclose(names['slopes'], wanted, rtol=1e-9, atol=1e-9)
