# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues by Jacobi rotations: as NumPy has them, also where they coincide or vanish."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.kernels import Kernel, trace

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


def test_a_compiled_kernel_finds_the_same_as_plain_numbers():
    def function(A):
        values, vectors = symmetric_eigen(A)
        return {'values': values, 'vectors': vectors}

    kernel = Kernel(trace(function, {'A': (6, 6)}, 'eigen'), wait=True)
    for matrix in gram_matrices('random', 6)[:20]:
        values, vectors = kernel(matrix)
        plain, _ = symmetric_eigen(matrix.tolist())
        assert values == pytest.approx(plain, rel=1e-12)
        assert (vectors * values) @ vectors.T == pytest.approx(matrix, rel=1e-12, abs=1e-13)
