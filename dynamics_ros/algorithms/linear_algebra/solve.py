# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Factorization and solution of small linear systems over any scalar; zeros of trees are kept."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.errors import SingularError
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import larger

Matrix = Sequence[Sequence[Scalar]]
TINY = 1e-270
"""Added to a trace, so that no zero pivot is divided by."""

Factors = tuple[list[list[Scalar]], list[Scalar]]


MIN_PIVOT = 1e-14
"""Smallest pivot of a bounded inverse, as a share of the trace: about the rounding error."""


def factorize(M: Matrix, least_pivot: Scalar | None = None) -> Factors:
    """M = L^T D L with L unit lower triangular ([Featherstone2008] table 6.3).

    This is the L D L^T factorization in reverse order, without square roots and pivoting. Leaves
    are eliminated first: an entry between two branches, which is zero in M, is then zero in L, too,
    and takes no operations in a trace.

    Args:
        M: symmetric positive definite, (n, n); the lower triangle is read.
        least_pivot: positive number that replaces smaller pivots; None replaces none.

    Returns:
        L (n, n) without its unit diagonal, and the inverse diagonal of D (n).

    Raises:
        SingularError: a pivot is the number zero, so it is zero for all configurations.
    """
    n = len(M)
    work = [[M[i][j] if j <= i else 0.0 for j in range(n)] for i in range(n)]
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        pivot = work[k][k] if least_pivot is None else larger(work[k][k], least_pivot)
        inverse[k] = _reciprocal(pivot)
        for i in range(k):
            L[k][i] = work[k][i] * inverse[k]
        for i in range(k):
            for j in range(i + 1):
                work[i][j] = work[i][j] - L[k][i] * work[k][j]
    return L, inverse


def solve_factorized(factors: Factors, right: Sequence[Scalar]) -> list[Scalar]:
    """The solution x of L^T D L x = right."""
    L, inverse = factors
    x = solve_lower_transposed(L, right, unit=True)
    x = [value * factor for value, factor in zip(x, inverse, strict=True)]
    return solve_lower(L, x, unit=True)


def solve_lower(L: Matrix, right: Sequence[Scalar], *, unit: bool = False) -> list[Scalar]:
    """The solution x of L x = right for a lower triangular L.

    Args:
        L: (n, n); entries above the diagonal are not read.
        right: (n).
        unit: the diagonal is one and is not read.
    """
    x: list[Scalar] = []
    for k, value in enumerate(right):
        x.append(_minus_dot(value, L[k][:k], x))
        if not unit:
            x[k] = x[k] / L[k][k]
    return x


def solve_lower_transposed(
    L: Matrix, right: Sequence[Scalar], *, unit: bool = False
) -> list[Scalar]:
    """The solution x of L^T x = right for a lower triangular L; arguments as of `solve_lower`."""
    x = list(right)
    for k in reversed(range(len(x))):
        if not unit:
            x[k] = x[k] / L[k][k]
        for i in range(k):
            x[i] = x[i] - L[k][i] * x[k]
    return x


def solve(M: Matrix, right: Sequence[Scalar]) -> list[Scalar]:
    """The solution x of M x = right for a symmetric positive definite M."""
    return solve_factorized(factorize(M), right)


def inverse_of(factors: Factors) -> list[list[Scalar]]:
    """Inverse of a factorized symmetric matrix: W D^-1 W^T with W = L^-1.

    Like L, W has no entries between two branches. An entry of the result therefore sums only over
    the common ancestors of two coordinates.
    """
    _, inverse = factors
    W = inverse_of_lower(factors[0])
    n = len(inverse)
    scaled = [[x * y for x, y in zip(row, inverse, strict=True)] for row in W]
    lower = [[dot(scaled[i], W[j]) for j in range(i + 1)] for i in range(n)]
    return [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def bounded_inverse(A: Matrix) -> tuple[list[list[Scalar]], Scalar]:
    """Inverse of a symmetric matrix, and a lower bound of its smallest eigenvalue.

    The bound is 1 / trace(A^-1), as the trace is the sum of all 1 / eigenvalue. It is at least the
    smallest eigenvalue divided by n.

    Args:
        A: symmetric positive semidefinite, (n, n); the lower triangle is read.

    Returns:
        A^-1 (n, n) and the bound. If A is singular to rounding error, the bound is at most
        ``MIN_PIVOT`` of the trace of A, and the inverse is finite but meaningless.
    """
    n = len(A)
    trace: Scalar = TINY
    for i in range(n):
        trace = trace + A[i][i]
    inverse = inverse_of(factorize(A, MIN_PIVOT * trace))
    total: Scalar = 0.0
    for i in range(n):
        total = total + inverse[i][i]
    return inverse, 1.0 / total


def damped_inverse(J: Matrix, damping: Scalar) -> list[list[Scalar]]:
    """Damped pseudoinverse J^T (J J^T + damping 1)^-1 (n, m) ([Nakamura1986]).

    Args:
        J: (m, n) of any rank.
        damping: positive; the relative error is damping / (s^2 + damping) at the singular value s.
    """
    m = len(J)
    A = [[dot(J[i], J[j]) + (damping if i == j else 0.0) for j in range(m)] for i in range(m)]
    factors = factorize(A)
    return [solve_factorized(factors, column) for column in zip(*J, strict=True)]


def solve_columns(factors: Factors, right: Matrix) -> list[list[Scalar]]:
    """The solution X of M X = right for a factorized M and many columns: W D^-1 W^T right."""
    _, inverse = factors
    W = inverse_of_lower(factors[0])
    transposed = list(zip(*W, strict=True))
    columns = []
    for column in zip(*right, strict=True):
        y = [dot(row, column) for row in transposed]
        y = [value * factor for value, factor in zip(y, inverse, strict=True)]
        columns.append([dot(row, y) for row in W])
    return [list(row) for row in zip(*columns, strict=True)]


def inverse_of_lower(L: Matrix) -> list[list[Scalar]]:
    """Inverse of a unit lower triangular L, given without its diagonal; returned with diagonal."""
    W: list[list[Scalar]] = []
    for i, row in enumerate(L):
        above = [-dot(row[j:i], [x[j] for x in W[j:]]) for j in range(i)]
        W.append([*above, 1.0, *([0.0] * (len(L) - i - 1))])
    return W


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Inner product of two rows."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _minus_dot(value: Scalar, a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """A value minus the inner product of two rows."""
    for x, y in zip(a, b, strict=True):
        value = value - x * y
    return value


def _reciprocal(pivot: Scalar) -> Scalar:
    if isinstance(pivot, (int, float)) and pivot == 0.0:
        raise SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    return 1.0 / pivot
