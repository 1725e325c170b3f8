# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Linear tasks in strict priority with inequalities: a sequence of constrained optimizations.

[RD] 3.10.3; inequalities at any level as in [Kanoun2011]: a later level must not violate what an
earlier level satisfies, nor increase a violation of an earlier level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InfeasibleError, InvalidArgumentError
from dynamics_ros.multibody.arguments import check_positive, finite_arrays
from dynamics_ros.multibody.linear_systems import (
    Array,
    Singular,
    constrained_least_squares,
    feasible,
)


@dataclass(frozen=True)
class Level:
    """Priority level: A x = b and C x <= d with the least sum of squared violations.

    Attributes:
        matrix, target: A (m, n), b (m).
        bounded, bound: C (k, n), d (k); inf where there is no bound.
    """

    matrix: Array
    target: Array
    bounded: Array
    bound: Array

    @classmethod
    def equality(cls, matrix: ArrayLike, target: ArrayLike) -> Level:
        """Level with A x = b only."""
        A = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
        b = finite_arrays('target', target, (len(A),))
        n = A.shape[1]
        return cls(finite_arrays('matrix', A, A.shape), b, np.zeros((0, n)), np.zeros(0))

    @classmethod
    def inequality(cls, bounded: ArrayLike, bound: ArrayLike) -> Level:
        """Level with C x <= d only."""
        C = np.atleast_2d(np.asarray(bounded, dtype=np.float64))
        d = np.asarray(bound, dtype=np.float64)
        if d.shape != (len(C),) or np.isnan(d).any():
            raise InvalidArgumentError('bound', f'shape {d.shape}', f'{len(C)} numbers')
        n = C.shape[1]
        return cls(np.zeros((0, n)), np.zeros(0), finite_arrays('bounded', C, C.shape), d)

    def __add__(self, other: Level) -> Level:
        """Combine two levels at the same priority."""
        return Level(
            np.vstack([self.matrix, other.matrix]),
            np.concatenate([self.target, other.target]),
            np.vstack([self.bounded, other.bounded]),
            np.concatenate([self.bound, other.bound]),
        )

    def __mul__(self, weight: float) -> Level:
        """Weight the squared errors relative to others at the same priority.

        The cost of errors e with weight w is w e^2 ([RD] eq. 2.215).

        Raises:
            InvalidArgumentError: the weight is not a positive finite number.
        """
        check_positive('weight', weight)
        root = math.sqrt(weight)
        return Level(self.matrix * root, self.target * root, self.bounded * root, self.bound * root)

    __rmul__ = __mul__

    def violation(self, x: Array) -> float:
        """Weighted norm of the violations of a solution x (n)."""
        errors = self.matrix @ x - self.target
        excess = np.maximum(self.bounded @ x - self.bound, 0.0)
        return float(np.hypot(np.linalg.norm(errors), np.linalg.norm(excess)))


@dataclass(frozen=True)
class HierarchySolution:
    """Solution of a hierarchy, with the violation of each level.

    Attributes:
        x: (n).
        violations: norm of the violations of each level.
        freedom: dimensions that no equality has used.
    """

    x: Array
    violations: tuple[float, ...]
    freedom: int = field(default=0)


def solve_hierarchy(levels: Sequence[Level]) -> HierarchySolution:
    """Solve for the x (n) that satisfies each level as well as the earlier levels allow.

    Directions that no level determines stay near zero.

    Args:
        levels: in order of priority, the highest first.

    Raises:
        InvalidArgumentError: the levels have different numbers of columns.
    """
    sizes = {level.matrix.shape[1] for level in levels}
    if len(sizes) != 1:
        problem = f'{len(levels)} levels with {sorted(sizes)} columns'
        raise InvalidArgumentError('levels', problem, 'levels of the same number of columns')
    n = sizes.pop()
    x, Z = np.zeros(n), np.eye(n)
    C, d = np.zeros((0, n)), np.zeros(0)
    for level in levels:
        reduced = Singular.of(level.matrix @ Z, float(np.linalg.norm(level.matrix)))
        x = x + Z @ _step(level, reduced, x, Z, C, d)
        C = np.vstack([C, level.bounded])
        # A violated bound, even if only by rounding, is relaxed to its current value from here on.
        d = np.maximum(np.concatenate([d, level.bound]), C @ x)
        if reduced.rank:
            Z = Z @ reduced.null_space
    return HierarchySolution(x, tuple(level.violation(x) for level in levels), Z.shape[1])


def _step(level: Level, reduced: Singular, x: Array, Z: Array, C: Array, d: Array) -> Array:
    """Solve for the z of x + Z z that is best for a level and keeps C x <= d.

    Args:
        level: the level.
        reduced: decomposition of its matrix times Z.
        x, Z: solution of earlier levels, and basis of the directions that they leave.
        C, d: inequalities of earlier levels.
    """
    CZ, room = C @ Z, d - C @ x
    own, own_room = level.bounded @ Z, level.bound - level.bounded @ x
    error = level.target - level.matrix @ x
    z = reduced.least_squares(error)
    both, both_room = np.vstack([CZ, own]), np.concatenate([room, own_room])
    if feasible(both, both_room, z):
        return z
    if not len(level.matrix):
        try:
            return constrained_least_squares(level.matrix @ Z, error, both, both_room)
        except InfeasibleError:
            pass
    # One slack variable per inequality of the level measures its violation.
    slacks = len(level.bound)
    A = np.block(
        [
            [level.matrix @ Z, np.zeros((len(level.matrix), slacks))],
            [np.zeros((slacks, Z.shape[1])), np.eye(slacks)],
        ]
    )
    b = np.concatenate([error, np.zeros(slacks)])
    bounded = np.block([[CZ, np.zeros((len(C), slacks))], [own, -np.eye(slacks)]])
    return constrained_least_squares(A, b, bounded, both_room)[: Z.shape[1]]
