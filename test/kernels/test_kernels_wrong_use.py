# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels and functions of users in odd ways: an error that says so, or the right answer."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import PlainFunction, c_source, compile, python_source


def product(A, x):
    return {'y': A @ x, 'z': A * 2.0}


@pytest.fixture(params=['python', 'llvm'])
def backend(request):
    if request.param == 'llvm':
        pytest.importorskip('llvmlite')
    return request.param


@pytest.fixture
def kernel(backend):
    return compile(product, {'A': (3, 3), 'x': 3}, backend=backend)


A = np.arange(9.0).reshape(3, 3)
X = np.array([1.0, -1.0, 0.5])


class TestOut:
    def test_whose_elements_share_memory_is_refused(self, kernel):
        y = np.zeros(3)
        for shared in (
            np.lib.stride_tricks.as_strided(np.zeros(3), (3, 3), (0, 8)),
            np.lib.stride_tricks.as_strided(np.zeros(5), (3, 3), (8, 8)),
        ):
            with pytest.raises(InvalidArgumentError, match='out: elements of z that share memory'):
                kernel(A, X, out=(y, shared))

    def test_arrays_that_share_memory_are_refused(self, kernel):
        memory = np.zeros(12)
        with pytest.raises(InvalidArgumentError, match='out: arrays that share memory'):
            kernel(A, X, out=(memory[:3], memory[2:11].reshape(3, 3)))
        y, z = kernel(A, X, out=(memory[9:], memory[:9].reshape(3, 3)))
        np.testing.assert_array_equal(y, A @ X)
        np.testing.assert_array_equal(z, 2.0 * A)


def test_masked_entries_are_refused_and_an_empty_mask_is_none(kernel):
    with pytest.raises(InvalidArgumentError, match='x: masked entries'):
        kernel(A, np.ma.masked_array(X, [0, 1, 0]))
    np.testing.assert_array_equal(kernel(A, np.ma.masked_array(X))[0], A @ X)


@pytest.mark.parametrize(
    'again', [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_kernels_are_copied_and_pickled(kernel, again):
    other = again(kernel)
    for ours, theirs in zip(other(A, X), kernel(A, X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert other.backend == kernel.backend


@pytest.mark.parametrize(
    'name', ['sin', 'exp', 'atan2', 'sqrt', 'minimum', 'math', 'memcpy', 'main']
)
def test_names_that_others_have(backend, name):
    def function(x, y):
        return np.sin(x) + np.exp(x) * np.sqrt(y) + np.arctan2(x, y) + np.minimum(x, y)

    kernel = compile(function, {'x': (), 'y': ()}, name, backend=backend)
    assert kernel(0.3, 0.4) == pytest.approx(function(0.3, 0.4), rel=1e-13)
    many = np.linspace(0.1, 0.9, 40)
    np.testing.assert_allclose(kernel(many, 0.4), function(many, 0.4), rtol=1e-13)
    assert PlainFunction(kernel.trace)(0.3, 0.4) == pytest.approx(function(0.3, 0.4), rel=1e-13)
    assert f'def {name}' in python_source(kernel.trace)


@pytest.mark.parametrize('name', ['sin', 'double', 'main', 'printf', 'malloc', 'memory'])
def test_c_has_no_function_of_a_name_that_is_taken(name):
    trace = compile(lambda x: 2.0 * x, {'x': 2}, name, backend='python').trace
    with pytest.raises(InvalidArgumentError, match=f"name: '{name}' is a word of C"):
        c_source(trace)


@pytest.mark.parametrize(
    ('inputs', 'problem'),
    [
        (None, 'inputs: a NoneType'),
        ([('x', 3)], 'inputs: a list'),
        ({'x': -1}, 'inputs: -1 as the shape of x'),
        ({'x': 2.5}, 'inputs: 2.5 as the shape of x'),
        ({'x': (2, 'a')}, 'the shape of x; expected a whole number'),
        ({'x': None}, 'inputs: None as the shape of x'),
        ({3: 3}, 'name: 3 given'),
        ({'x y': 3}, 'name: .x y. given'),
    ],
)
def test_inputs_that_are_none(inputs, problem):
    with pytest.raises(InvalidArgumentError, match=problem):
        compile(lambda *x: x[0], inputs)


@pytest.mark.parametrize(
    ('function', 'problem'),
    [
        (3, 'function: a int; expected a function'),
        (lambda x: {}, 'outputs: none'),
        (lambda x: x * 10**400, 'constant inf'),
        (lambda x: compile(lambda y: 2.0 * y, {'y': ()})(x), 'y: traced values'),
    ],
)
def test_functions_that_are_none(function, problem):
    with pytest.raises(ValueError, match=problem):
        compile(function, {'x': ()})


def test_a_function_that_calls_itself_for_ever_ends():
    def endless(x):
        return endless(x)

    with pytest.raises(RecursionError):
        compile(endless, {'x': ()})
