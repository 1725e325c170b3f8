# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and eigenvectors of small symmetric matrices, by Jacobi rotations [GolubVanLoan] 8.5.

Pairs of rows are taken in rounds of a tournament: the rotations of a round touch different rows
and do not wait for each other. After each round all rows move on by one seat of the circle method,
so that every round rotates the same pairs of seats: one round is the body of the loop, and the
trace of a matrix of twelve rows is as short as the rest of an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import repeat, sqrt, where_less

SWEEPS = 12
"""Most sweeps, each of as many rounds as it takes to rotate all pairs of rows once; convergence is
quadratic and takes 4 to 7 sweeps."""

CONVERGED = 1e-15
"""What may be left off the diagonal, relative to the diagonal: the rounding of a double."""

TINY = 1e-290
"""Added to what is divided by; its square root is far below any entry that matters."""


def symmetric_eigen(A: Sequence[Sequence[Scalar]]) -> tuple[list[Scalar], list[list[Scalar]]]:
    """The eigenvalues and eigenvectors of a symmetric matrix, in no order.

    Args:
        A: (n, n); the lower triangle is read.

    Returns:
        The eigenvalues (n) and V (n, n) with A = V diag(eigenvalues) V^T.
    """
    n = len(A)
    lower = [A[i][j] for i in range(n) for j in range(i + 1)]
    unit = [1.0 if i == j else 0.0 for i in range(n) for j in range(n)]
    rounds = max(n - 1 + n % 2, 1)
    state = repeat(lambda values: _round(n, values), [*lower, *unit], SWEEPS * rounds)
    work, V = _matrices(n, state)
    return [work[i][i] for i in range(n)], V


def _round(n: int, state: Sequence[Scalar]) -> tuple[list[Scalar], Scalar]:
    """Rotate every row with the one opposite; whether too much is left off the diagonal."""
    work, V = _matrices(n, state)
    pairs = [(i, n - 1 - i) for i in range(n // 2)]
    turns = [(i, j, *_rotation(work[i][i], work[j][j], work[i][j])) for i, j in pairs]
    for i, j, _, _, shift in turns:
        work[i][i], work[j][j] = work[i][i] - shift, work[j][j] + shift
        work[i][j] = work[j][i] = 0.0
    _turn_both_sides(work, turns)
    for row in V:
        for i, j, c, s, _ in turns:
            row[i], row[j] = c * row[i] - s * row[j], s * row[i] + c * row[j]
    seats = _next_seats(n)
    lower = [work[seats[i]][seats[j]] for i in range(n) for j in range(i + 1)]
    beside: Scalar = 0.0
    diagonal: Scalar = 0.0
    for i in range(n):
        diagonal = diagonal + work[i][i] * work[i][i]
        for j in range(i):
            beside = beside + work[i][j] * work[i][j]
    moved = [row[seat] for row in V for seat in seats]
    return [*lower, *moved], beside - CONVERGED**2 * diagonal


def _next_seats(n: int) -> list[int]:
    """Who takes each seat after a round: all move on by one, of an even number but the first."""
    first = 1 - n % 2
    return [*range(first), n - 1, *range(first, n - 1)] if n > 1 else [0]


def _matrices(n: int, state: Sequence[Scalar]) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """The symmetric matrix and the rotations of a state."""
    size = n * (n + 1) // 2
    work = [
        [state[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(n)] for i in range(n)
    ]
    return work, [list(state[size + n * i : size + n * (i + 1)]) for i in range(n)]


def _rotation(a: Scalar, d: Scalar, b: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Cosine and sine that diagonalise [[a, b], [b, d]], and what they take from a to d.

    With h = (d - a) / 2, the smaller root of t^2 + 2 h/b t - 1 = 0 is
    t = b / (h +- sqrt(h^2 + b^2)), the sign that of h.
    """
    h = 0.5 * (d - a)
    root = sqrt(h * h + b * b + TINY)
    t = b / (h + where_less(h, 0.0, -root, root))
    c = 1.0 / sqrt(1.0 + t * t)
    return c, c * t, t * b


def _turn_both_sides(
    work: list[list[Scalar]], turns: Sequence[tuple[int, int, Scalar, Scalar, Scalar]]
) -> None:
    """R^T A R between the blocks of a round; the blocks themselves are done."""
    alone = set(range(len(work))) - {k for turn in turns for k in turn[:2]}
    for x, (i, j, c, s, _) in enumerate(turns):
        for k in alone:
            _set(work, i, k, j, k, c * work[i][k] - s * work[j][k], s * work[i][k] + c * work[j][k])
        for k, m, ck, sk, _ in turns[x + 1 :]:
            # The rows i and j, then the columns k and m of the block between the two pairs.
            ik, im = c * work[i][k] - s * work[j][k], c * work[i][m] - s * work[j][m]
            jk, jm = s * work[i][k] + c * work[j][k], s * work[i][m] + c * work[j][m]
            _set(work, i, k, i, m, ck * ik - sk * im, sk * ik + ck * im)
            _set(work, j, k, j, m, ck * jk - sk * jm, sk * jk + ck * jm)


def _set(
    work: list[list[Scalar]], i: int, j: int, k: int, m: int, first: Scalar, second: Scalar
) -> None:
    work[i][j] = work[j][i] = first
    work[k][m] = work[m][k] = second
