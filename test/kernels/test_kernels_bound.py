# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bound input: kernels of one machine code, each with numbers of its own."""

import gc

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
