# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""QR factorization, for least squares without squaring the condition number."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import sqrt

from .solve import dot

TINY = 1e-150
"""Added to the length of a column before division, so that a zero column stays zero."""


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


def with_rows(
    R: Sequence[Sequence[Scalar]], rows: Sequence[Sequence[Scalar]]
) -> list[list[Scalar]]:
    """R factor of R with more rows below it, by Householder reflections ([GolubVanLoan] 5.1, 5.2).

    Each reflection turns an entry of the diagonal and the rows below it, in which zeros of the
    trace stay zero, into a longer entry of the diagonal. Its sign is such that nothing cancels; the
    turned row of R is multiplied by -1, which is an orthogonal transformation, too.

    Args:
        R: (n, n), upper triangular with a non-negative diagonal; rows with a zero there are zero.
        rows: of length n.

    Returns:
        (n, n), upper triangular with a non-negative diagonal.
    """
    n = len(R)
    rest = [list(row) for row in rows]
    found = []
    for k, row in enumerate(R):
        touched = [other for other in rest if not _is_zero(other[k])]
        if not touched:
            found.append(list(row))
            continue
        tail = [other[k] for other in touched]
        length = sqrt(row[k] * row[k] + dot(tail, tail))
        by_length, by_sum = 1.0 / (length + TINY), 1.0 / (length + row[k] + TINY)
        onto = [x * by_length for x in (row[k], *tail)]
        back = [x * by_sum for x in tail]
        turned = [0.0] * k + [length]
        for column in range(k + 1, n):
            below = [other[column] for other in touched]
            entry, below = _reflected(onto, back, row[column], below)
            turned.append(entry)
            for other, x in zip(touched, below, strict=True):
                other[column] = x
        found.append(turned)
    return found


def _reflected(
    onto: Sequence[Scalar], back: Sequence[Scalar], entry: Scalar, below: Sequence[Scalar]
) -> tuple[Scalar, list[Scalar]]:
    """A column after the reflection of ``with_rows``: its entry of R, and those below."""
    turned = dot(onto, [entry, *below])
    both = turned + entry
    return turned, [x - share * both for x, share in zip(below, back, strict=True)]


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, float) and x == 0.0
