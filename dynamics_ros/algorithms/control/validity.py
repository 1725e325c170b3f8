# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Validity checks of external inputs, and bounds that hold for NaN and infinite values, too.

A comparison with NaN is false in a trace, in C and for floats. All functions of this file are
written such that the result of a false comparison is the safe one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynamics_ros.spatial import Matrix3, Scalar
from dynamics_ros.spatial.scalar import where_less

Values = Sequence[Scalar]

LARGEST = 1e30
"""Bound of valid measurements and settings; larger, infinite and NaN values are invalid."""

ROTATION_ERROR = 1e-4
"""Largest sum of squares of the entries of R R^T - 1 for a valid rotation matrix."""


def excess_of(values: Iterable[Scalar]) -> Scalar:
    """Sum of magnitudes; it is below ``LARGEST`` only if all values are valid."""
    terms = [abs(x) for x in values]
    while len(terms) > 1:  # pairwise, because a chain of additions has a long latency
        terms = [sum(terms[i : i + 2]) for i in range(0, len(terms), 2)]
    return terms[0] if terms else 0.0


def if_valid(excess: Scalar, then: Sequence[Scalar], otherwise: Sequence[Scalar]) -> list[Scalar]:
    """``then`` if an `excess_of` is below ``LARGEST``, else ``otherwise``."""
    return [where_less(excess, LARGEST, x, y) for x, y in zip(then, otherwise, strict=True)]


def at_least(x: Scalar, low: Scalar) -> Scalar:
    """The larger of x and ``low``; ``low`` if x is NaN."""
    return where_less(low, x, x, low)


def at_most(x: Scalar, high: Scalar) -> Scalar:
    """The smaller of x and ``high``; ``high`` if x is NaN."""
    return where_less(x, high, x, high)


def between(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x limited to [low, high]; ``high`` if low > high."""
    return at_most(at_least(x, low), high)


def any_differs(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    """1.0 if two lists of numbers differ, else 0.0."""
    distance = excess_of(x - y for x, y in zip(a, b, strict=True))
    return where_less(0.0, distance, 1.0, 0.0)


def unless_between(low: Scalar, x: Scalar, high: Scalar) -> Scalar:
    """0 if low < x < high, else ``LARGEST``."""
    return where_less(low, x, where_less(x, high, 0.0, LARGEST), LARGEST)


def unless_rotation(rows: Sequence[Values]) -> Scalar:
    """0 if the rows (3, 3) are a rotation matrix, else ``LARGEST``."""
    R = Matrix3(rows)
    error: Scalar = 0.0
    for i, row in enumerate(R):
        for j, other in enumerate(R):
            off = row.dot(other) - (1.0 if i == j else 0.0)
            error = error + off * off
    proper = where_less(0.0, R.determinant(), 0.0, LARGEST)
    return where_less(error, ROTATION_ERROR, proper, LARGEST)
