# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bound input: kernels of one machine code, each with numbers of its own."""

import gc
import weakref

import numpy as np
import pytest

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel, Program, Step, calls, derivative, trace
from dynamics_ros.kernels import compilation as llvm_backend

X = np.array([0.5, -1.0, 2.0])
LIGHT, HEAVY = np.array([2.0, 0.25]), np.array([30.0, -1.0])


def affine(x, p):
    return [e * p[0] + p[1] for e in x]


def traced(function=affine, **options):
    return trace(function, {'x': 3, 'p': 2}, 'affine', bound=True, **options)


def expected(p, x=X):
    return x * p[0] + p[1]


@pytest.fixture(params=['llvm', 'through ctypes', 'python'])
def kernel(request, monkeypatch):
    if request.param == 'through ctypes':
        monkeypatch.setattr(calls, 'native', None)
    return Kernel(traced(), 'python' if request.param == 'python' else 'llvm')


def test_each_has_its_own_numbers_and_nothing_is_compiled(kernel, monkeypatch):
    compiled = []
    monkeypatch.setattr(llvm_backend.llvm_compiler, 'object_code', lambda *x: compiled.append(x))
    light, heavy = kernel.bound_to(LIGHT), kernel.bound_to(HEAVY)
    for _ in range(2):
        np.testing.assert_allclose(light(X), expected(LIGHT), rtol=1e-15)
        np.testing.assert_allclose(heavy.call(X), expected(HEAVY), rtol=1e-15)
    np.testing.assert_array_equal(kernel(X), np.zeros(3))
    assert not compiled


def test_arguments_of_any_kind(kernel):
    light = kernel.bound_to(LIGHT)
    out, many = np.empty(3), np.outer(np.arange(50.0), X)
    assert light(X, out=out) is out
    np.testing.assert_allclose(out, expected(LIGHT))
    np.testing.assert_allclose(light(list(X)), expected(LIGHT))
    np.testing.assert_allclose(light(many), expected(LIGHT, many))
    np.testing.assert_allclose(light(many.reshape(5, 10, 3)).reshape(50, 3), expected(LIGHT, many))
    with pytest.raises(InvalidArgumentError, match='x: nan'):
        light(np.full(3, np.nan))
    with pytest.raises(TypeError, match=r'1 arrays \(x\), got 2'):
        light(X, LIGHT)


def test_what_it_is_bound_to_is_copied_and_stays(kernel):
    values = LIGHT.copy()
    light = kernel.bound_to(values)
    values[:] = HEAVY
    np.testing.assert_allclose(light(X), expected(LIGHT))
    with pytest.raises(ValueError, match='read-only'):
        light.bound[0] = 1.0


@pytest.mark.parametrize('values', [np.zeros(3), 1.0, np.zeros((1, 2))])
def test_another_shape_is_refused(values):
    with pytest.raises(InvalidArgumentError, match='values'):
        Kernel(traced()).bound_to(values)


def test_what_has_no_bound_input_is_not_bound():
    kernel = Kernel(trace(lambda x: x, {'x': 3}, 'same'))
    with pytest.raises(InvalidArgumentError, match='a kernel with a bound input'):
        kernel.bound_to(LIGHT)


def test_what_nothing_depends_on_is_left_out():
    free = traced(lambda x, p: [2.0 * e for e in x])
    assert [x.name for x in free.inputs] == ['x'] and not free.bound
    np.testing.assert_array_equal(Kernel(free)(X), 2.0 * X)


def test_steps_of_a_program_read_their_own_numbers(kernel):
    light, heavy = kernel.bound_to(LIGHT), kernel.bound_to(HEAVY)
    middle, result = np.empty(3), np.empty(3)
    program = Program([Step(light, (X,), (middle,)), Step(heavy, (middle,), (result,))])
    del light, heavy
    gc.collect()
    assert program.run()
    np.testing.assert_allclose(result, expected(HEAVY, expected(LIGHT)))


def test_numbers_that_are_not_finite_are_refused(kernel):
    with pytest.raises(InvalidArgumentError, match='p: inf'):
        kernel.bound_to(np.array([np.inf, 0.0]))(X)


def test_its_derivative_is_bound_as_well(kernel):
    slope = Kernel(derivative(kernel.trace, by='x')).bound_to(LIGHT)
    np.testing.assert_allclose(slope(X), LIGHT[0] * np.eye(3))


def test_all_are_quick_once_what_compiles_in_the_background_is_ready():
    kernel = Kernel(traced(), wait=False)
    light = kernel.bound_to(LIGHT)
    assert light.wait(60.0) and light.backend == kernel.backend == 'llvm'
    assert light.call is not light._general
    np.testing.assert_allclose(light.call(X), expected(LIGHT))


def test_a_kernel_is_no_cycle():
    kernel = Kernel(traced(), 'llvm')
    light = kernel.bound_to(LIGHT)
    light(X)
    seen, call = weakref.ref(light), light.call
    gc.disable()
    try:
        del light
        assert seen() is None
    finally:
        gc.enable()
    np.testing.assert_allclose(call(list(X)), expected(LIGHT))  # its slow path needs no kernel
