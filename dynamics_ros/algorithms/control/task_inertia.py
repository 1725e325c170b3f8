# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Task inertia that stays bounded where the joints cannot move a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.linear_algebra.matrices import times_transposed, transposed
from dynamics_ros.algorithms.linear_algebra.solve import (
    Factors,
    dot,
    factorize,
    inverse_of,
    solve_factorized,
)
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import sqrt, where_less

from .validity import at_least

Values = Sequence[Scalar]
Rows = list[list[Scalar]]

REGULAR = 1e-12
"""Share of the mean eigenvalue that is always added: it keeps pivots above rounding."""

LEAST = 1e-14
"""Added where not even the mean is above zero [1/kg]."""


@dataclass(frozen=True)
class BoundedInertia:
    """Lambda = (J M^-1 J^T + d 1)^-1, rotations counted as arcs on a length.

    Attributes:
        factors: of what is inverted.
        scales: (6) 1 for directions, 1/length for turns.
        damped: 1.0 where d counts, else 0.0.
    """

    factors: Factors
    scales: list[Scalar]
    damped: Scalar

    @classmethod
    def of(cls, J: Rows, M_inverse_Jt: Rows, length: Scalar, largest: Scalar) -> BoundedInertia:
        """Damp by as much as the smallest singular value is below that of the largest inertia.

        The smallest eigenvalue of A = J M^-1 J^T, the square of the smallest singular value of
        L^-1 J^T, is that of the heaviest direction, 1/m. It is known by the 8-norm of A^-1, which
        is below it by at most a fifth, and by less the closer the singularity is.

        Args:
            J: (6, nv).
            M_inverse_Jt: columns (6) of M^-1 J^T.
            length: at which arcs of a turn count as displacements [m].
            largest: inertia that no direction shall exceed [kg].
        """
        scales = [1.0, 1.0, 1.0, *[1.0 / length] * 3]
        lower = [
            [dot(J[i], M_inverse_Jt[j]) * scales[i] * scales[j] for j in range(i + 1)]
            for i in range(6)
        ]
        mean: Scalar = 0.0
        for i in range(6):
            mean = mean + lower[i][i]
        regular = REGULAR / 6.0 * mean + LEAST
        inverse = inverse_of(factorize(_with_diagonal(lower, regular)))
        fourth = times_transposed(times_transposed(inverse))
        squares: Scalar = 0.0
        for row in fourth:
            squares = squares + dot(row, row)
        smallest = 1.0 / sqrt(sqrt(sqrt(squares))) - regular
        added = at_least(1.0 / largest - smallest, 0.0)
        factors = factorize(_with_diagonal(lower, regular + added))
        return cls(factors, scales, where_less(0.0, added, 1.0, 0.0))

    def __matmul__(self, x: Values) -> list[Scalar]:
        """Lambda x."""
        scaled = [a * s for a, s in zip(x, self.scales, strict=True)]
        return [
            a * s for a, s in zip(solve_factorized(self.factors, scaled), self.scales, strict=True)
        ]

    def unfelt(self, J: Rows, M_inverse_Jt: Rows, tau: Values) -> list[Scalar]:
        """N^T tau = tau - J^T Lambda J M^-1 tau: what the tool does not feel of torques (nv).

        Args:
            J, M_inverse_Jt: as of `of`.
            tau: (nv).
        """
        force = self @ [dot(column, tau) for column in M_inverse_Jt]
        return [x - dot(column, force) for x, column in zip(tau, transposed(J), strict=True)]


def _with_diagonal(lower: Rows, added: Scalar) -> Rows:
    n = len(lower)
    return [
        [lower[max(i, j)][min(i, j)] + (added if i == j else 0.0) for j in range(n)]
        for i in range(n)
    ]
