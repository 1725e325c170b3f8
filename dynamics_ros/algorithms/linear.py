"""Small dense symmetric systems over any scalar, sparse where a tree makes them so."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SingularError
from ..spatial import Scalar

Matrix = Sequence[Sequence[Scalar]]
Factors = tuple[list[list[Scalar]], list[Scalar]]


def factorize(M: Matrix) -> Factors:
    """M = L^T D L with L unit lower triangular ([Featherstone2008] table 6.3).

    Leaves are eliminated first: then an entry between two branches, zero for sure in M, stays zero
    in L and costs nothing in a trace.

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
    n = len(inverse)
    x = list(right)
    for k in reversed(range(n)):
        for i in range(k):
            x[i] = x[i] - L[k][i] * x[k]
    x = [value * factor for value, factor in zip(x, inverse, strict=True)]
    for k in range(n):
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return x


def solve(M: Matrix, right: Sequence[Scalar]) -> list[Scalar]:
    """The solution x of M x = right for a symmetric positive definite M."""
    return solve_factorized(factorize(M), right)


def inverse_of(factors: Factors) -> list[list[Scalar]]:
    """The inverse of a factorized matrix, itself symmetric."""
    n = len(factors[1])
    columns = []
    for j in range(n):
        unit: list[Scalar] = [0.0] * n
        unit[j] = 1.0
        columns.append(solve_factorized(factors, unit))
    return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]


def solve_columns(factors: Factors, right: Matrix) -> list[list[Scalar]]:
    """The solution X of M X = right for a factorized M."""
    columns = [solve_factorized(factors, list(column)) for column in zip(*right, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _reciprocal(pivot: Scalar) -> Scalar:
    if isinstance(pivot, (int, float)) and pivot == 0.0:
        raise SingularError('mass matrix', 'a joint moves nothing that has mass or inertia')
    return 1.0 / pivot
