# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Small dense linear algebra over floats and in machine code, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples

from dynamics_ros.algorithms.linear_algebra.solve import (
    MIN_PIVOT,
    bounded_inverse,
    cholesky,
    factorize,
    inverse_of,
    solve,
    solve_lower,
    solve_lower_transposed,
)
from dynamics_ros.errors import SingularError
from dynamics_ros.kernels import Kernel, trace

# The matrices below have condition numbers up to some 1e3; the rest is rounding.
RELATIVE = 1e-11


def positive_definite(size, seed):
    A = np.random.default_rng(seed).normal(size=(size, size))
    return A @ A.T + 0.5 * np.eye(size)


def everything(M, b):
    L = cholesky(M)
    return {
        'L': L,
        'lower': solve_lower(L, b),
        'upper': solve_lower_transposed(L, b),
        'unit': solve_lower(L, b, unit=True),
        'unit_upper': solve_lower_transposed(L, b, unit=True),
        'x': solve(M, b),
        'inverse': inverse_of(factorize(M)),
    }


def expected(M, b):
    L = np.linalg.cholesky(M)
    unit = np.tril(L, -1) + np.eye(len(b))
    return {
        'L': L,
        'lower': np.linalg.solve(L, b),
        'upper': np.linalg.solve(L.T, b),
        'unit': np.linalg.solve(unit, b),
        'unit_upper': np.linalg.solve(unit.T, b),
        'x': np.linalg.solve(M, b),
        'inverse': np.linalg.inv(M),
    }


def assert_all_close(computed, wanted):
    for name, value in wanted.items():
        error = np.abs(np.array(computed[name]) - value).max()
        assert error <= RELATIVE * max(1.0, np.abs(value).max()), name


@given(size=st.integers(1, 8), seed=st.integers(0, 2**32 - 1))
def test_of_floats(size, seed):
    M, b = positive_definite(size, seed), np.random.default_rng(seed).normal(size=size)
    assert_all_close(everything(M.tolist(), b.tolist()), expected(M, b))


@examples(5)
@given(size=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_of_symbols(size, seed):
    kernel = Kernel(trace(everything, {'M': (size, size), 'b': size}, 'everything'))
    M, b = positive_definite(size, seed), np.random.default_rng(seed).normal(size=size)
    wanted = expected(M, b)
    assert_all_close(dict(zip(wanted, kernel(M, b))), wanted)


def test_only_the_lower_triangle_is_read():
    M = np.tril(positive_definite(4, 1))
    assert np.tril(np.array(cholesky(M.tolist()))) == pytest.approx(
        np.linalg.cholesky(M + np.tril(M, -1).T), abs=1e-14
    )


def test_what_is_not_positive_definite():
    with pytest.raises(ValueError, match='math domain'):
        cholesky([[1.0, 0.0], [2.0, 1.0]])
    with pytest.raises(SingularError):
        factorize([[0.0]])
    kernel = Kernel(trace(lambda M: cholesky(M), {'M': (2, 2)}, 'cholesky'))
    assert np.isnan(kernel(np.array([[1.0, 2.0], [2.0, 1.0]]))[1, 1])


@pytest.mark.parametrize('rank', [1, 3, 6])
@pytest.mark.parametrize('backend', ['numbers', 'python', 'llvm'])
@examples(15)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(-6.0, 6.0))
def test_an_inverse_bounds_the_smallest_eigenvalue(rank, backend, seed, scale):
    B = 10.0**scale * np.random.default_rng(seed).normal(size=(6, rank))
    A = B @ B.T
    inverse, bound = BOUNDED[backend](A)
    smallest = np.linalg.eigvalsh(A)[0]
    assert np.isfinite(inverse).all()
    if rank < 6:
        assert 0.0 < bound <= 2.0 * MIN_PIVOT * np.trace(A)
        return
    rounding = 1e-13 * np.trace(A)
    assert smallest / 6.0 - rounding <= bound <= smallest + rounding
    if bound > 1e-6 * np.trace(A):
        np.testing.assert_allclose(inverse @ A, np.eye(6), atol=1e-8)


def bounded(A):
    inverse, bound = bounded_inverse(A)
    return {'inverse': inverse, 'bound': bound}


BOUNDED = {
    'numbers': lambda A: [np.array(x) for x in bounded_inverse(A.tolist())],
    'python': Kernel(trace(bounded, {'A': (6, 6)}, 'bounded'), 'python'),
    'llvm': Kernel(trace(bounded, {'A': (6, 6)}, 'bounded'), 'llvm'),
}
