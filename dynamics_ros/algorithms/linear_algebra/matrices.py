# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Operations on small matrices, stored as lists of rows, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import sqrt, where_less

from .solve import dot

Matrix = Sequence[Sequence[Scalar]]
"""Matrix as a sequence of rows of scalars."""

TINY = 1e-150
"""Added to the length of a column before division, so that a zero column stays zero."""


def product(A: Matrix, B: Matrix) -> list[list[Scalar]]:
    """Matrix product A B."""
    of_B = transposed(B)
    return [[dot(row, column) for column in of_B] for row in A]


def transposed(A: Matrix) -> list[list[Scalar]]:
    """Transpose A^T."""
    return [list(column) for column in zip(*A, strict=True)]


def scaled_columns(A: Matrix, factors: Sequence[Scalar]) -> list[list[Scalar]]:
    """A diag(factors): column k multiplied by factor k."""
    return [[x * f for x, f in zip(row, factors, strict=True)] for row in A]


def beside(*matrices: Matrix) -> list[list[Scalar]]:
    """Horizontal concatenation of matrices with the same number of rows."""
    return [[x for row in rows for x in row] for rows in zip(*matrices, strict=True)]


def columns(A: Matrix, chosen: slice) -> list[list[Scalar]]:
    """The chosen columns of A."""
    return [list(row[chosen]) for row in A]


def times_transposed(A: Matrix) -> list[list[Scalar]]:
    """Symmetric product A A^T; only one triangle is computed."""
    lower = [[dot(A[i], A[j]) for j in range(i + 1)] for i in range(len(A))]
    return [[lower[max(i, j)][min(i, j)] for j in range(len(A))] for i in range(len(A))]


def ascending(rows: Matrix) -> list[list[Scalar]]:
    """Rows in ascending order of their first entries, by a fixed sequence of exchanges."""
    result = [list(row) for row in rows]
    for last in reversed(range(1, len(result))):
        for i in range(last):
            a, b = result[i], result[i + 1]
            pairs = list(zip(a, b, strict=True))
            result[i] = [where_less(b[0], a[0], y, x) for x, y in pairs]
            result[i + 1] = [where_less(b[0], a[0], x, y) for x, y in pairs]
    return result


def chosen(condition: Scalar, then: Matrix, otherwise: Matrix) -> list[list[Scalar]]:
    """The first matrix where the condition is 1, the second where it is 0."""
    return [
        [where_less(0.5, condition, x, y) for x, y in zip(*rows, strict=True)]
        for rows in zip(then, otherwise, strict=True)
    ]


def orthogonalize(
    columns: Sequence[Sequence[Scalar]],
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """W = Q R by modified Gram-Schmidt ([GolubVanLoan] 5.2.8); R is as accurate as W.

    Args:
        columns: m columns of W, of length n.

    Returns:
        m columns of Q, of length n, and R (m, m), upper triangular with a non-negative diagonal. A
        diagonal entry that is almost zero belongs to a column that depends on the columns before
        it.
    """
    m = len(columns)
    rest = [list(column) for column in columns]
    R: list[list[Scalar]] = [[0.0] * m for _ in range(m)]
    for i in range(m):
        R[i][i] = sqrt(dot(rest[i], rest[i]))
        inverse = 1.0 / (R[i][i] + TINY)
        rest[i] = [x * inverse for x in rest[i]]
        for j in range(i + 1, m):
            projection = R[i][j] = dot(rest[i], rest[j])
            rest[j] = [x - projection * unit for x, unit in zip(rest[j], rest[i], strict=True)]
    return rest, R
