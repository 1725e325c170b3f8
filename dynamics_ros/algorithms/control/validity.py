# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers from outside: whether they are any, and bounds that hold whatever they are.

A comparison with NaN is false, in a trace, in C and on floats alike; everything here is written so
that the false side is the safe one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynamics_ros.spatial import Matrix3, Scalar
from dynamics_ros.spatial.scalar import where_less

Values = Sequence[Scalar]

LARGEST = 1e30
"""What is larger, infinite or not a number is not taken for a measurement or a setting."""

ROTATION_ERROR = 1e-4
"""Sum of squares by which R R^T may differ from 1."""


def excess_of(values: Iterable[Scalar]) -> Scalar:
    """Sum of sizes: below ``LARGEST`` only if each of the values is a number below it."""
    terms = [abs(x) for x in values]
    while len(terms) > 1:  # in pairs: a chain of sums would have to wait for each
        terms = [sum(terms[i : i + 2]) for i in range(0, len(terms), 2)]
    return terms[0] if terms else 0.0


def if_valid(excess: Scalar, then: Sequence[Scalar], otherwise: Sequence[Scalar]) -> list[Scalar]:
    """Numbers where an `excess_of` says that they are some, else others."""
    return [where_less(excess, LARGEST, x, y) for x, y in zip(then, otherwise, strict=True)]


def at_least(x: Scalar, low: Scalar) -> Scalar:
    """The larger of two numbers; ``low`` where x is none."""
    return where_less(low, x, x, low)


def at_most(x: Scalar, high: Scalar) -> Scalar:
    """The smaller of two numbers; ``high`` where x is none."""
    return where_less(x, high, x, high)


def between(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x within bounds; the high one counts where they contradict each other."""
    return at_most(at_least(x, low), high)


def any_differs(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    """1.0 where two lists of numbers are not the same, else 0.0."""
    distance = excess_of(x - y for x, y in zip(a, b, strict=True))
    return where_less(0.0, distance, 1.0, 0.0)


def unless_between(low: Scalar, x: Scalar, high: Scalar) -> Scalar:
    """0 where low < x < high, else ``LARGEST``."""
    return where_less(low, x, where_less(x, high, 0.0, LARGEST), LARGEST)


def unless_rotation(rows: Sequence[Values]) -> Scalar:
    """0 of a rotation matrix, else ``LARGEST``."""
    R = Matrix3(rows)
    error: Scalar = 0.0
    for i, row in enumerate(R):
        for j, other in enumerate(R):
            off = row.dot(other) - (1.0 if i == j else 0.0)
            error = error + off * off
    proper = where_less(0.0, R.determinant(), 0.0, LARGEST)
    return where_less(error, ROTATION_ERROR, proper, LARGEST)
