# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Springs and dampers bounded by what torques that are held between two samples allow.

A damper d on an inertia m changes a velocity by the factor 1 - d h / m in an interval h, and thus
drives the motion if d h / m > 2, or earlier if torques come late. A wrist without rotors in its
description has 1e-4 kg m^2 about its axis: at 100 Hz it allows 0.01 Nms/rad.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.linear_algebra.matrices import times_transposed, transposed
from dynamics_ros.algorithms.linear_algebra.solve import (
    dot,
    factorize,
    solve_factorized,
)
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import clipped, larger, smaller, sqrt

Values = Sequence[Scalar]
Rows = Sequence[Values]

SHARE, SHARE_OF_SPRING = 0.8, 0.2
"""Largest D h and K h^2, relative to the inertia, that are left as they are; their damping ratio is
0.9."""

SHARE_OF_POSTURE = 0.4
"""The same for the posture, of all joints together; twice as much is reached in the worst case."""

SHARE_OF_RANGE = 0.25
"""Largest stiffness of a joint range times h^2, relative to the inertia of the joint alone."""

SHORTENING = 0.04
"""Time constant with which shorter intervals replace a longer one [s]: a loop that was held up
makes up for it by a burst of short ones, and the last torques of the burst may act for long."""

REGULARIZATION = 1e-12
"""Fraction of the mean mobility that is added to keep pivots above rounding errors."""

TINY = 1e-30
"""Lower bound of divisors."""


def held_for(interval: Scalar, before: Scalar) -> Scalar:
    """Time for which torques are held [s]: the interval, or a longer one of the last samples.

    Args:
        interval: since the previous sample [s].
        before: result for the previous sample; 0 before the first one.
    """
    return larger(interval, before + smaller(interval / SHORTENING, 1.0) * (interval - before))


def mobility_factor(J: Rows, M_inverse_Jt: Rows) -> list[list[Scalar]]:
    """Columns of C (6, 6) with J M^-1 J^T = C C^T.

    Args:
        J: (6, nv).
        M_inverse_Jt: six columns (nv) of M^-1 J^T.
    """
    lower = [[dot(row, column) for column in M_inverse_Jt[: i + 1]] for i, row in enumerate(J)]
    mean: Scalar = 0.0
    for i, row in enumerate(lower):
        mean = mean + row[i] / len(lower)
    for i, row in enumerate(lower):
        row[i] = row[i] + (REGULARIZATION * mean + TINY)
    # M = L^T D L, so row k of L, times the root of its pivot, is a column of C.
    L, inverse = factorize(lower)
    roots = [sqrt(1.0 / x) for x in inverse]
    return [
        [root * (1.0 if i == k else x) for i, x in enumerate(row)]
        for k, (row, root) in enumerate(zip(L, roots, strict=True))
    ]


def bounded_by_samples(B: Rows, factor: Rows, gain: Scalar, wrench: Values) -> list[Scalar]:
    """Wrench (6) B x, reduced in directions in which B is too large for a sampled loop.

    It applies (1 + X) / (1 + X + X^2) with X = gain B A to the wrench. X has the eigenvalues of
    Y = gain C^T B C. If none exceeds 1, for which the Schatten 4-norm of Y is an upper bound, the
    wrench stays as it is; otherwise the eigenvalues are reduced to little more than 1.

    Args:
        B: (6, 6) stiffness or damping.
        factor: columns of C with the mobility A = C C^T, in the axes of B.
        gain: of Y.
        wrench: (6) in the axes of B.
    """
    n = len(B)
    along = [[gain * dot(row, column) for row in B] for column in factor]
    lower = [[dot(factor[i], along[j]) for j in range(i + 1)] for i in range(n)]
    Y = [[lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    square = times_transposed(Y)
    fourth: Scalar = 0.0
    for row in square:
        fourth = fourth + dot(row, row)
    acting = clipped(sqrt(sqrt(fourth)) - 1.0, 0.0, 1.0)
    below = [
        [acting * (y + acting * z) for y, z in zip(*r, strict=True)]
        for r in zip(Y, square, strict=True)
    ]
    for i, row in enumerate(below):
        row[i] = row[i] + 1.0
    x = solve_factorized(factorize(below), [dot(column, wrench) for column in factor])
    removed = [acting * acting * dot(row, x) for row in Y]
    back = [dot(row, removed) for row in transposed(along)]
    return [x - y for x, y in zip(wrench, back, strict=True)]


def bounded_posture(
    stiffness: Values, damping: Values, mobilities: Values, hold: Scalar
) -> list[Scalar]:
    """Factors (nv), up to 1, of the springs and dampers of joints.

    The sum of all (d + h k) h over the inertia bounds the largest eigenvalue. If it is too large,
    each joint keeps its part of a common factor or its own fraction of the bound, if that is more.

    Args:
        stiffness, damping: (nv) k and d of the joints.
        mobilities: (nv) of each joint, for the motion on which the springs act.
        hold: h, time for which torques are held [s].
    """
    parts = [
        hold * (d + hold * k) * m for k, d, m in zip(stiffness, damping, mobilities, strict=True)
    ]
    total: Scalar = TINY
    for x in parts:
        total = total + x
    common, own = SHARE_OF_POSTURE / total, SHARE_OF_POSTURE / len(parts)
    return [smaller(1.0, larger(common, own / larger(x, TINY))) for x in parts]


def bounded_ranges(stiffness: Values, M_inverse: Rows, hold: Scalar) -> list[Scalar]:
    """Stiffness (nv) of the joint ranges, bounded for each joint alone.

    Args:
        stiffness: (nv).
        M_inverse: (nv, nv) inverse of the mass matrix.
        hold: time for which torques are held [s].
    """
    most = SHARE_OF_RANGE / (hold * hold)
    return [
        smaller(k, most / larger(row[i], TINY))
        for i, (k, row) in enumerate(zip(stiffness, M_inverse, strict=True))
    ]
