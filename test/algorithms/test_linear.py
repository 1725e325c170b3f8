# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Small dense linear algebra against NumPy, and the subproblems of inverse kinematics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from random_robots import SEEDS
from scipy.spatial.transform import Rotation

from dynamics_ros.algorithms.inverse_kinematics.subproblems import (
    Turn,
    turn_between,
    turns_to_distance,
    turns_to_line,
    turns_to_plane,
)
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.algorithms.linear_algebra.solve import (
    MIN_PIVOT,
    bounded_inverse,
    factorize,
    inverse_of,
    solve,
    solve_lower,
    solve_lower_transposed,
)
from dynamics_ros.errors import SingularError
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.spatial import Vector3

# The matrices below have condition numbers up to some 1e3; the rest is rounding.
RELATIVE = 1e-11


def positive_definite(size, seed):
    A = np.random.default_rng(seed).normal(size=(size, size))
    return A @ A.T + 0.5 * np.eye(size)


def everything(M, b, L):
    return {
        'lower': solve_lower(L, b),
        'upper': solve_lower_transposed(L, b),
        'unit': solve_lower(L, b, unit=True),
        'unit_upper': solve_lower_transposed(L, b, unit=True),
        'x': solve(M, b),
        'inverse': inverse_of(factorize(M)),
    }


def expected(M, b, L):
    unit = np.tril(L, -1) + np.eye(len(b))
    matrices = L, L.T, unit, unit.T, M
    return [*(np.linalg.solve(A, b) for A in matrices), np.linalg.inv(M)]


def system(size, seed):
    """M, b and L, what is above the diagonal of both but noise."""
    rng = np.random.default_rng(seed)
    M, noise = positive_definite(size, seed), np.triu(rng.normal(size=(size, size)), 1)
    return np.tril(M) + noise, rng.normal(size=size), np.linalg.cholesky(M) + noise, M


@pytest.mark.parametrize('symbols', [False, True])
@examples(10)
@given(size=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_systems_are_solved_from_their_lower_triangles(symbols, size, seed):
    M, b, L, whole = system(size, seed)
    shapes = {'M': (size, size), 'b': size, 'L': (size, size)}
    if symbols:
        found = Kernel(trace(everything, shapes, 'everything'))(M, b, L)
    else:
        found = [np.array(x) for x in everything(M.tolist(), b.tolist(), L.tolist()).values()]
    for x, y in zip(found, expected(whole, b, np.tril(L)), strict=True):
        assert np.abs(x - y).max() <= RELATIVE * max(1.0, np.abs(y).max())


def test_a_pivot_that_is_zero_is_refused():
    with pytest.raises(SingularError):
        factorize([[0.0]])


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


ROUNDING = 1e-14
"""Relative to the largest eigenvalue: some 200 rotations, each of which rounds once."""

COUNT = 300


def gram_matrices(kind: str, n: int) -> np.ndarray:
    """(COUNT, n, n) symmetric, positive semidefinite."""
    rng = np.random.default_rng(n)
    B = rng.normal(size=(COUNT, n, n + 1))
    if kind == 'graded':
        B *= 10.0 ** rng.uniform(-6.0, 0.0, size=(COUNT, n, 1))
    elif kind == 'of low rank':
        B[:, :, 2:] = 0.0
    elif kind == 'equal':
        B = np.linalg.qr(rng.normal(size=(COUNT, n, n)))[0]
    elif kind == 'zero':
        B[:] = 0.0
    return B @ B.transpose(0, 2, 1)


@pytest.mark.parametrize('n', [1, 2, 3, 6, 7, 12])
@pytest.mark.parametrize('kind', ['random', 'graded', 'of low rank', 'equal', 'zero'])
def test_a_matrix_is_its_eigenvalues_along_its_eigenvectors(kind, n):
    matrices = gram_matrices(kind, n)
    rows = [[matrices[:, i, j].copy() for j in range(n)] for i in range(n)]
    values, vectors = symmetric_eigen(rows)
    found = np.stack([np.broadcast_to(x, COUNT) for x in values], axis=-1)
    V = np.stack([np.stack([np.broadcast_to(x, COUNT) for x in row], -1) for row in vectors], -2)
    scale = np.abs(matrices).max(axis=(1, 2)) + 1e-300
    rebuilt = (V * found[:, None, :]) @ V.transpose(0, 2, 1)
    assert (np.abs(rebuilt - matrices).max(axis=(1, 2)) <= ROUNDING * scale).all()
    assert np.abs(V.transpose(0, 2, 1) @ V - np.eye(n)).max() < ROUNDING
    expected = np.linalg.eigvalsh(matrices)
    assert (np.abs(np.sort(found) - expected).max(axis=1) <= ROUNDING * scale).all()


LIKED = Turn(math.cos(0.4), math.sin(0.4))

NEAR, FLAT = 1e-7, 1e-6
"""rad: where two turns meet, rounding moves them by its square root, some 1e-8."""


def random_vectors(seed, count):
    """A unit axis, and vectors of some length."""
    rng = np.random.default_rng(seed)
    axis, *others = rng.normal(size=(count + 1, 3))
    return axis / np.linalg.norm(axis), others, rng


def turned(axis, v, angle):
    return Rotation.from_rotvec(angle * axis).apply(v)


def nearest(turns, angle):
    """Distance of the nearest turn to an angle; all must be turns."""
    for turn in turns:
        assert math.isclose(turn.cos**2 + turn.sin**2, 1.0, rel_tol=1e-12)
    differences = [math.atan2(t.sin, t.cos) - angle for t in turns]
    return min(abs(math.remainder(x, 2.0 * math.pi)) for x in differences)


@given(SEEDS)
def test_a_turn_is_found_from_a_vector_and_where_it_goes(seed):
    axis, (u,), rng = random_vectors(seed, 1)
    angle = rng.uniform(-math.pi, math.pi)
    w = 3.0 * turned(axis, u, angle) + rng.normal() * axis
    turn = turn_between(Vector3.of(axis), Vector3.of(u), Vector3.of(w), LIKED)
    assert nearest([turn], angle) < NEAR
    there = turn.apply(Vector3.of(axis), Vector3.of(u))
    np.testing.assert_allclose([*there], turned(axis, u, angle), atol=1e-12)
    np.testing.assert_allclose([*turn.undo(Vector3.of(axis), there)], u, atol=1e-12)


@given(SEEDS)
def test_both_turns_into_a_plane_and_to_a_distance_are_found(seed):
    axis, (u, normal), rng = random_vectors(seed, 2)
    angle = rng.uniform(-math.pi, math.pi)
    there = turned(axis, u, angle)
    h, v, n = (Vector3.of(x) for x in (axis, u, normal))
    turns = turns_to_plane(n, h, v, float(normal @ there), LIKED)
    assert nearest(turns, angle) < FLAT
    for turn in turns:
        assert math.isclose(n.dot(turn.apply(h, v)), normal @ there, abs_tol=1e-12)
    squared = float(np.sum((there + normal) ** 2))
    turns = turns_to_distance(h, v, n, squared, LIKED)
    assert nearest(turns, angle) < FLAT
    for turn in turns:
        end = turn.apply(h, v) + n
        assert math.isclose(end.dot(end), squared, rel_tol=1e-12)


def test_a_line_that_misses_the_circle_gives_its_nearest_point_twice():
    for turn in turns_to_line(3.0, 4.0, 10.0, LIKED):
        np.testing.assert_allclose(turn, (0.6, 0.8), atol=1e-15)


def test_a_turn_that_changes_nothing_is_the_one_that_is_liked():
    z, u = Vector3(0.0, 0.0, 1.0), Vector3(0.0, 0.0, 0.3)
    assert turn_between(z, u, Vector3(1.0, 0.0, 0.0), LIKED) == LIKED
    first, second = turns_to_plane(Vector3(1.0, 0.0, 0.0), z, u, 0.0, LIKED)
    for turn in (first, second):
        np.testing.assert_allclose(turn, LIKED, atol=1e-15)
