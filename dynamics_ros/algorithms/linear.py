"""Small dense symmetric systems over any scalar."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SingularError
from ..spatial import Scalar

Matrix = Sequence[Sequence[Scalar]]


def factorize(M: Matrix, quantity: str = 'mass matrix') -> tuple[list[list[Scalar]], list[Scalar]]:
    """M = L D L^T, L with a unit diagonal, by rows without pivoting (M positive definite).

    Entries that are zero for sure stay zero, so the sparsity of a tree survives when leaves come
    first.

    Returns:
        L (n, n) and the inverse of the diagonal of D (n).

    Raises:
        SingularError: a pivot is zero whatever the configuration is.
    """
    n = len(M)
    L: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    inverse: list[Scalar] = [0.0] * n
    for i in range(n):
        scaled: list[Scalar] = [0.0] * i
        for j in range(i):
            entry = M[i][j]
            for k in range(j):
                entry = entry - scaled[k] * L[j][k]
            scaled[j] = entry
            L[i][j] = entry * inverse[j]
        pivot = M[i][i]
        for k in range(i):
            pivot = pivot - scaled[k] * L[i][k]
        inverse[i] = _reciprocal(pivot, quantity)
        L[i][i] = 1.0
    return L, inverse


def _reciprocal(pivot: Scalar, quantity: str) -> Scalar:
    """1 / pivot.

    Raises:
        SingularError: the pivot is the number zero: nothing with inertia moves with that joint.
    """
    if isinstance(pivot, (int, float)) and pivot == 0.0:
        raise SingularError(quantity, 'a joint moves nothing that has mass or inertia')
    return 1.0 / pivot


def solve_factorized(
    L: Matrix, inverse: Sequence[Scalar], right: Sequence[Scalar]
) -> list[Scalar]:
    """The solution x of L D L^T x = right."""
    n = len(inverse)
    x = list(right)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i][k] * x[k]
    x = [value * factor for value, factor in zip(x, inverse, strict=True)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k][i] * x[k]
    return x


def solve(M: Matrix, right: Sequence[Scalar]) -> list[Scalar]:
    """The solution x of M x = right for a symmetric positive definite M."""
    return solve_factorized(*factorize(M), right)


def inverse_of(M: Matrix) -> list[list[Scalar]]:
    """The inverse of a symmetric positive definite matrix, itself symmetric."""
    n = len(M)
    factors = factorize(M)
    columns = []
    for j in range(n):
        unit: list[Scalar] = [0.0] * n
        unit[j] = 1.0
        columns.append(solve_factorized(*factors, unit))
    return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
