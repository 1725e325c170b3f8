# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Small dense systems over any scalar, sparse where a tree makes them so."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.errors import SingularError
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import sqrt

Matrix = Sequence[Sequence[Scalar]]
Factors = tuple[list[list[Scalar]], list[Scalar]]


def factorize(M: Matrix) -> Factors:
    """M = L^T D L with L unit lower triangular ([Featherstone2008] table 6.3).

    This is L D L^T begun at the other end: no roots, no exchange of rows. Leaves are eliminated
    first: then an entry between two branches, zero for sure in M, stays zero in L and costs nothing
    in a trace.

    Args:
        M: symmetric positive definite, (n, n); the lower triangle is read.

    Returns:
        L (n, n), its unit diagonal left out, and the inverse of the diagonal of D (n).

    Raises:
        SingularError: a pivot is zero whatever the configuration is.
    """
    n = len(M)
    work = [[M[i][j] if j <= i else 0.0 for j in range(n)] for i in range(n)]
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        inverse[k] = _reciprocal(work[k][k])
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


def cholesky(M: Matrix) -> list[list[Scalar]]:
    """The lower triangular L of M = L L^T.

    Args:
        M: symmetric positive definite, (n, n); the lower triangle is read.

    Raises:
        ArithmeticError, ValueError: numbers that are not positive definite; symbols give NaN.
    """
    n = len(M)
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        L[j][j] = sqrt(_less_products(M[j][j], L[j][:j], L[j][:j]))
        inverse = 1.0 / L[j][j]
        for i in range(j + 1, n):
            L[i][j] = _less_products(M[i][j], L[i][:j], L[j][:j]) * inverse
    return L


def solve_lower(L: Matrix, right: Sequence[Scalar], *, unit: bool = False) -> list[Scalar]:
    """The solution x of L x = right for a lower triangular L.

    Args:
        L: (n, n); what is above the diagonal is not read.
        right: (n).
        unit: the diagonal is one and is not read.
    """
    x: list[Scalar] = []
    for k, value in enumerate(right):
        x.append(_less_products(value, L[k][:k], x))
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
    """The inverse of a factorized matrix, itself symmetric: W D^-1 W^T with W = L^-1.

    Like L, its inverse has no entry between two branches, so an entry of the result sums over what
    two coordinates have below both of them.
    """
    _, inverse = factors
    W = inverse_of_lower(factors[0])
    n = len(inverse)
    scaled = [[x * y for x, y in zip(row, inverse, strict=True)] for row in W]
    lower = [[dot(scaled[i], W[j]) for j in range(i + 1)] for i in range(n)]
    return [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def damped_inverse(J: Matrix, damping: Scalar) -> list[list[Scalar]]:
    """J^T (J J^T + damping 1)^-1 ([Nakamura1986]): of what J (m, n) can bring about, about J^+.

    Args:
        J: (m, n) of any rank.
        damping: positive; the error is damping / (s^2 + damping) where the singular value is s.
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
    """The inverse of a lower triangular matrix whose unit diagonal is left out, with its own."""
    W: list[list[Scalar]] = []
    for i, row in enumerate(L):
        above = [-dot(row[j:i], [x[j] for x in W[j:]]) for j in range(i)]
        W.append([*above, 1.0, *([0.0] * (len(L) - i - 1))])
    return W


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The sum of the products of two rows."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _less_products(value: Scalar, a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """What is left of a value less the products of two rows."""
    for x, y in zip(a, b, strict=True):
        value = value - x * y
    return value


def _reciprocal(pivot: Scalar) -> Scalar:
    if isinstance(pivot, (int, float)) and pivot == 0.0:
        raise SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    return 1.0 / pivot
