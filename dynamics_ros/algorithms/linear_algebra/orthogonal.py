# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Columns made orthogonal: least squares without squaring the condition of what is solved."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import sqrt

from .solve import dot

TINY = 1e-150
"""Added to a length that is divided by: a column of zeros stays one."""


def orthogonalize(
    columns: Sequence[Sequence[Scalar]],
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """W = Q R by modified Gram-Schmidt ([GolubVanLoan] 5.2.8); R is as exact as W.

    Args:
        columns: of W, m of length n.

    Returns:
        The columns of Q (m of n), and R (m, m), upper triangular with a diagonal of at least 0:
        one that is zero beside the largest tells a column that depends on those before it.
    """
    m = len(columns)
    rest = [list(column) for column in columns]
    R: list[list[Scalar]] = [[0.0] * m for _ in range(m)]
    for i in range(m):
        R[i][i] = sqrt(dot(rest[i], rest[i]))
        inverse = 1.0 / (R[i][i] + TINY)
        rest[i] = [x * inverse for x in rest[i]]
        for j in range(i + 1, m):
            share = R[i][j] = dot(rest[i], rest[j])
            rest[j] = [x - share * unit for x, unit in zip(rest[j], rest[i], strict=True)]
    return rest, R
