# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and eigenvectors of small symmetric matrices, by Jacobi rotations [GolubVanLoan] 8.5.

Pairs of rows are rotated in the order of a round-robin tournament: the rotations of a round affect
different rows, so they are independent of each other. After each round the rows are permuted by the
circle method. Every round thus rotates the same positions, and one round is the body of a loop,
which keeps the trace short.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import repeat, sqrt, where_less

SWEEPS = 12
"""Largest number of sweeps. A sweep rotates all pairs of rows once; convergence is quadratic and
usually takes 4 to 7 sweeps."""

CONVERGED = 1e-15
"""Norm of the off-diagonal entries, relative to the diagonal, at which the iteration ends."""

TINY = 1e-290
"""Added under the square root of a divisor, to avoid 0/0 for a pair of zero entries."""


def symmetric_eigen(
    A: Sequence[Sequence[Scalar]], wanted: Scalar = 1.0
) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Eigenvalues and eigenvectors of a symmetric matrix, not sorted.

    Args:
        A: (n, n); the lower triangle is read.
        wanted: 0 ends the iteration after its first step, if nobody reads the result; 1 otherwise.

    Returns:
        Eigenvalues (n), and V (n, n) with A = V diag(eigenvalues) V^T.
    """
    n = len(A)
    lower = [A[i][j] for i in range(n) for j in range(i + 1)]
    unit = [1.0 if i == j else 0.0 for i in range(n) for j in range(n)]
    rounds = max(n - 1 + n % 2, 1)
    state = repeat(
        lambda values, wanted: _round(n, values, wanted),
        *([*lower, *unit], SWEEPS * rounds, wanted),
    )
    work, V = _matrices(n, state)
    return [work[i][i] for i in range(n)], V


def _round(n: int, state: Sequence[Scalar], wanted: Scalar) -> tuple[list[Scalar], Scalar]:
    """Rotate all pairs of opposite rows; return the state, and a value above 0 to continue."""
    work, V = _matrices(n, state)
    pairs = [(i, n - 1 - i) for i in range(n // 2)]
    rotations = [(i, j, *_rotation(work[i][i], work[j][j], work[i][j])) for i, j in pairs]
    for i, j, _, _, shift in rotations:
        work[i][i], work[j][j] = work[i][i] - shift, work[j][j] + shift
        work[i][j] = work[j][i] = 0.0
    _rotate_both_sides(work, rotations)
    for row in V:
        for i, j, c, s, _ in rotations:
            row[i], row[j] = c * row[i] - s * row[j], s * row[i] + c * row[j]
    seats = _next_seats(n)
    lower = [work[seats[i]][seats[j]] for i in range(n) for j in range(i + 1)]
    off_diagonal: Scalar = 0.0
    diagonal: Scalar = 0.0
    for i in range(n):
        diagonal = diagonal + work[i][i] * work[i][i]
        for j in range(i):
            off_diagonal = off_diagonal + work[i][j] * work[i][j]
    permuted = [row[seat] for row in V for seat in seats]
    return [*lower, *permuted], wanted * off_diagonal - CONVERGED**2 * diagonal


def _next_seats(n: int) -> list[int]:
    """Permutation of the rows after a round: a cyclic shift, without row 0 if n is even."""
    first = 1 - n % 2
    return [*range(first), n - 1, *range(first, n - 1)] if n > 1 else [0]


def _matrices(n: int, state: Sequence[Scalar]) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Symmetric matrix and accumulated rotations of a state of the loop."""
    size = n * (n + 1) // 2
    work = [
        [state[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)] for i in range(n)
    ]
    return work, [list(state[size + n * i : size + n * (i + 1)]) for i in range(n)]


def _rotation(a: Scalar, d: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Cosine and sine that diagonalise [[a, b], [b, d]], and the shift from a to d.

    With h = (d - a) / 2, the smaller root of t^2 + 2 h/b t - 1 = 0 is
    t = b / (h +- sqrt(h^2 + b^2)), the sign that of h.
    """
    h = 0.5 * (d - a)
    root = sqrt(h * h + b * b + TINY)
    t = b / (h + where_less(h, 0.0, -root, root))
    c = 1.0 / sqrt(1.0 + t * t)
    return c, c * t, t * b


def _rotate_both_sides(
    work: list[list[Scalar]], rotations: Sequence[tuple[int, int, Scalar, Scalar, Scalar]]
) -> None:
    """Apply R^T A R to all entries outside the 2x2 blocks of a round."""
    unpaired = set(range(len(work))) - {k for rotation in rotations for k in rotation[:2]}
    for x, (i, j, c, s, _) in enumerate(rotations):
        for k in unpaired:
            _set_symmetric(
                work, i, k, j, k, c * work[i][k] - s * work[j][k], s * work[i][k] + c * work[j][k]
            )
        for k, m, ck, sk, _ in rotations[x + 1 :]:
            # Rotate the rows i and j, then the columns k and m of the 2x2 block of both pairs.
            ik, im = c * work[i][k] - s * work[j][k], c * work[i][m] - s * work[j][m]
            jk, jm = s * work[i][k] + c * work[j][k], s * work[i][m] + c * work[j][m]
            _set_symmetric(work, i, k, i, m, ck * ik - sk * im, sk * ik + ck * im)
            _set_symmetric(work, j, k, j, m, ck * jk - sk * jm, sk * jk + ck * jm)


def _set_symmetric(
    work: list[list[Scalar]], i: int, j: int, k: int, m: int, first: Scalar, second: Scalar
) -> None:
    work[i][j] = work[j][i] = first
    work[k][m] = work[m][k] = second
