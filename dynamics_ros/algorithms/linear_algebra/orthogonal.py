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
