# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Functions of arrays that users write, traced and compiled: `kernels.compile`, `kernels.math`."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from c_library import assert_c_agrees, needs_compiler
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from scipy.spatial.transform import Rotation
from tolerances import DIFFERENCE, EXACT

from dynamics_ros import kernels
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import c_source
from dynamics_ros.kernels import math as km
from dynamics_ros.kernels.graph.operations import ELEMENTARY

A = np.array([[2.0, -1.0, 0.5], [0.0, 1.5, -0.25]])


def numpy_ufuncs(x):
    return (
        np.sin(x) + np.cos(x) * np.tan(0.3 * x) - np.exp(-(x**2))
        + np.sqrt(1.0 + x * x) + np.log(2.0 + np.abs(x)) + np.tanh(x) - np.arctan(x)
        + np.arctan2(x, 1.5) + np.arcsin(0.9 * np.sin(x)) + np.arccos(0.9 * np.cos(x))
    )  # fmt: skip


FUNCTIONS = {
    'ufuncs': numpy_ufuncs,
    'products': lambda x: A @ x + x[:2] * np.float64(3.0) - np.arange(2.0) / (2.0 + x[0] ** 2),
    'reductions': lambda x: np.array([x.sum(), x @ x, np.sum(x[1:]), x.mean(), np.prod(x)]),
    'extremes': lambda x: np.array([x.max(), np.min(x), *np.clip(x, -0.5, 0.5), *np.maximum(x, 0)]),
    'choices': lambda x: np.where(x < 0.1, -x, x**2) + np.where((x > -0.5) & (x <= 0.5), 1.0, 0.0),
    'or': lambda x: np.where((x < -0.5) | ~(x < 0.5), np.sign(x), x),
    'norms': lambda x: np.linalg.norm(x) + np.linalg.norm(x[:2] + 3.0),
    'rearranged': lambda x: np.stack([x[::-1], np.concatenate([x[1:], x[:1]])]).T @ np.ones(2),
    'outer': lambda x: np.outer(x, x) + np.eye(3) * x,
    'scalar first': lambda x: x[0] * np.arange(3.0) + np.arange(3.0) / (3.0 + x[1]) - x[2],
    'crossed': lambda x: np.cross(x, [1.0, 2.0, 3.0]),
    'module': lambda x: km.sin(x) + km.where(x > 0.0, km.sqrt(km.absolute(x)), km.tanh(x)),
    'scipy': lambda x: scipy.special.erfc(x) + km.erfc([x[1], 0.5, -3.0 * x[0]]),
    'mixed list': lambda x: km.cos([x[0], 0.5, x[2]]) + km.norm(km.array([x[0], 1.0])) + km.sign(2),
    'in place': lambda x: incremented(x),
    'constants': lambda x: km.atan2(-0.5, 2.0 + x) + km.minimum(0.2, x) + np.sin(0.0 * x),
}  # fmt: skip


def incremented(x):
    total = 2.0 * x
    total += np.ones(3)
    total[0] = x[2] * x[1]
    return total


@pytest.fixture(scope='module', params=['python', 'llvm'])
def kernel_of(request):
    made = {}

    def one(name):
        if name not in made:
            made[name] = kernels.compile(FUNCTIONS[name], {'x': 3}, backend=request.param)
        return made[name]

    return one


STATES = st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_a_function_answers_as_on_numbers(kernel_of, name):
    kernel = kernel_of(name)

    @examples(13)
    @given(STATES)
    def answers(x):
        np.testing.assert_allclose(kernel(x), FUNCTIONS[name](x), rtol=1e-12, atol=1e-12)

    answers()


@pytest.mark.parametrize(
    'name', ['ufuncs', 'products', 'reductions', 'module', 'outer', 'norms', 'scipy']
)
@examples(10)
@given(x=STATES.filter(lambda x: np.abs(x).min() > 1e-2))
def test_derivatives_are_slopes(kernel_of, name, x):
    slope = kernel_of(name).derivative('x')(x)
    step = 1e-6
    for k in range(3):
        e = step * np.eye(3)[k]
        difference = (FUNCTIONS[name](x + e) - FUNCTIONS[name](x - e)) / (2.0 * step)
        np.testing.assert_allclose(slope[..., k], difference, rtol=DIFFERENCE, atol=1e-6)


def test_a_hessian_is_the_derivative_of_a_gradient():
    B = np.array([[2.0, 0.5], [0.5, 1.0]])

    def cost(x, weight):
        return weight * x @ B @ x + np.exp(x[0] * x[1])

    kernel = kernels.compile(cost, {'x': 2, 'weight': ()})
    assert kernel.name == 'cost'
    gradient = kernel.derivative('x')
    hessian = gradient.derivative('x')
    x, e = np.array([0.3, -0.2]), np.exp(-0.06)
    assert kernel(x, 2.0) == pytest.approx(2.0 * x @ B @ x + e, rel=EXACT)
    np.testing.assert_allclose(gradient(x, 2.0), 4.0 * B @ x + e * x[::-1], rtol=1e-13)
    mixed = e * (1.0 + x[0] * x[1])
    expected = 4.0 * B + [[e * x[1] ** 2, mixed], [mixed, e * x[0] ** 2]]
    np.testing.assert_allclose(hessian(x, 2.0), expected, rtol=1e-13)
    assert hessian.backend == kernel.backend
    second = kernel.hessian('x')
    np.testing.assert_allclose(second(x, 2.0), expected, rtol=1e-13)
    np.testing.assert_array_equal(second(x, 2.0), second(x, 2.0).T)
    assert second.backend == kernel.backend
    assert second.operation_count <= hessian.operation_count
    with pytest.raises(InvalidArgumentError, match='scalar'):
        gradient.hessian('x')


@needs_compiler
@pytest.mark.parametrize('name', ['ufuncs', 'scipy'])
def test_it_is_a_function_in_c(tmp_path, name):
    kernel = kernels.compile(FUNCTIONS[name], {'x': 3}, 'function')
    assert_c_agrees(kernel.trace, tmp_path, [[np.array([0.3, -0.7, 1.1])]])


@pytest.mark.parametrize(
    ('function', 'problem'),
    [
        (lambda x: x if x[0] > 0.0 else -x, 'cannot branch'),
        (lambda x: float(x[0]), 'cannot become a float or an index'),
        (lambda x: math.sin(x[0]), r'np\.sin .* take it .*math\.sin\(x\[0\]\)'),
        (lambda x: filled(np.zeros(3), x), r'zeros_like\(q, shape=3\).*out\[0\] = x\[0\]'),
        (lambda x: np.sin(np.array([x[0], 1.0])), r'kernels\.math\.array.*np\.sin\(np\.array'),
        (lambda x: np.linalg.solve(A, x), r'numpy\.linalg\.solve takes.*linalg\.solve\(A, x\)'),
        *[
            (lambda x, f=f: f(np.array([[x[0], 1.0], [0.0, x[1]]])), rf'linalg\.{name} takes no tr')
            for module in (np.linalg, scipy.linalg)
            for name in ('inv', 'svd', 'cholesky', 'pinv')
            for f in [getattr(module, name)]
        ],
        (lambda x: np.linalg.matrix_power(x[:, None], 2), r'_power takes no .* kind \(.*square'),
        (lambda x: np.floor(x), 'floor takes no traced values; these do: absolute, add'),
        (lambda x: x[0] % 2.0, r'no number yet: .*%.*docs/kernels\.md'),
        (lambda x: f'{x[0]:.2f}', r'no number yet: .*docs/kernels\.md'),
        (lambda x: Rotation.from_rotvec(x), r'no number yet.*Rotation\.from_rotvec\(x\)'),
    ],
)
def test_what_cannot_be_traced_is_told(function, problem):
    with pytest.raises(TypeError, match=problem) as refused:
        kernels.compile(function, {'x': 3})
    line = function.__code__.co_firstlineno
    assert '\n' not in str(refused.value)
    if 'out[0]' not in str(refused.value):
        assert f'(line {line} of test_kernels_compile.py: ' in str(refused.value)


def filled(out, x):
    out[0] = x[0]
    return out


def test_an_array_like_the_input_is_filled_with_traced_values_and_with_numbers():
    def function(q):
        return filled(np.zeros_like(q, shape=3), q)

    q = np.array([0.5, 0.7])
    np.testing.assert_array_equal(function(q), [0.5, 0.0, 0.0])
    np.testing.assert_array_equal(kernels.compile(function, {'q': 2})(q), [0.5, 0.0, 0.0])


def test_a_choice_without_traced_elements_is_one_of_arrays():
    def function(x):
        numbers = km.where(x > 0.0, 1.0, 2.0)[:0], km.array([x[0], 1.0, 2.0])[1:]
        empty, constant = (np.where(np.ones(len(y), bool), y, 0.0) for y in numbers)
        assert empty.shape == (0,)
        return np.sin(constant) + x[0]

    kernel = kernels.compile(function, {'x': 2})
    np.testing.assert_allclose(kernel([0.5, 0.0]), np.sin([1.0, 2.0]) + 0.5)


class TestLinearSystems:
    @pytest.mark.parametrize('n', [1, 2, 3, 6, 12])
    def test_are_solved_as_by_numpy(self, n):
        kernel = kernels.compile(lambda A, b: km.solve(A, b), {'A': (n, n), 'b': n}, 'solution')
        rng = np.random.default_rng(n)
        matrices, right = rng.normal(size=(40, n, n)), rng.normal(size=(40, n))
        if n > 1:
            matrices[0, 0, 0] = 0.0  # a pivot that must not be used
        wanted = np.linalg.solve(matrices, right[..., None])[..., 0]
        np.testing.assert_allclose(kernel(matrices, right), wanted, atol=1e-10)
        assert kernel.backend == kernels.compile(lambda x: x, {'x': ()}).backend
        np.testing.assert_array_equal(km.solve(matrices[1], right[1]), wanted[1])

    def test_with_several_right_sides_and_inverses(self):
        matrices = np.random.default_rng(0).normal(size=(9, 3, 3))
        inverse = kernels.compile(km.inv, {'A': (3, 3)})
        np.testing.assert_allclose(inverse(matrices), np.linalg.inv(matrices), atol=1e-11)
        several = kernels.compile(lambda A: km.solve(A, np.eye(3)[:, :2]), {'A': (3, 3)})
        np.testing.assert_allclose(several(matrices), np.linalg.inv(matrices)[..., :2], atol=1e-11)
        np.testing.assert_array_equal(km.inv(matrices[0]), np.linalg.inv(matrices[0]))

    @pytest.mark.parametrize(
        ('A', 'b', 'problem'),
        [
            ((2, 3), 2, r'A: shape \(2, 3\); expected \(n, n\)'),
            ((13, 13), 13, 'n of at most 12'),
            ((2, 2), 3, r'b: shape \(3,\); expected \(2\)'),
        ],
    )
    def test_of_other_shapes_are_refused(self, A, b, problem):
        with pytest.raises(InvalidArgumentError, match=problem):
            kernels.compile(lambda A, b: km.solve(A, b), {'A': A, 'b': b})

    def test_that_are_always_singular_are_refused(self):
        with pytest.raises(np.linalg.LinAlgError):
            kernels.compile(lambda b: km.solve([[0.0, 0.0], [0.0, 1.0]], b), {'b': 2})


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@pytest.mark.parametrize('row', ELEMENTARY, ids=lambda row: row.name)
def test_a_row_of_the_table_is_all_that_a_function_needs(row, backend):
    function = getattr(km, row.name)
    names = ['a', 'b'][: row.arity]
    inputs = dict.fromkeys(names, ())
    kernel = kernels.compile(lambda *x: function(*x), inputs, 'f', backend=backend)
    x = [0.3, 0.7][: row.arity]
    assert kernel(*x) == pytest.approx(row.evaluate(*x), rel=1e-14)
    assert float(row.ufunc(*map(np.array, x))) == pytest.approx(row.evaluate(*x), rel=1e-14)
    assert row.c.format('a', 'b') in c_source(kernel.trace)
    for i, name in enumerate(names):
        step = np.eye(row.arity)[i] * 1e-6
        slope = (row.evaluate(*(x + step)) - row.evaluate(*(x - step))) / 2e-6
        assert kernel.derivative(name)(*x) == pytest.approx(slope, rel=1e-8)
    if row.parity:
        assert kernel(*np.negative(x)) == row.parity * kernel(*x)
