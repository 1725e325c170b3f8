# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Task inertia that stays bounded at singular configurations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dynamics_ros.algorithms.configuration import integrate, neutral
from dynamics_ros.algorithms.linear_algebra.eigenvalues import symmetric_eigen
from dynamics_ros.algorithms.linear_algebra.matrices import ascending, times_transposed, transposed
from dynamics_ros.algorithms.linear_algebra.solve import (
    dot,
    factorize,
    inverse_of,
    solve_factorized,
)
from dynamics_ros.algorithms.task_space import frame_rows
from dynamics_ros.model import Frame, Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import sqrt, where_less

from .validity import at_least

Values = Sequence[Scalar]
Rows = list[list[Scalar]]

REGULARIZATION = 1e-12
"""Fraction of the mean eigenvalue that is always added, to keep pivots above rounding errors."""

MIN_EIGENVALUE = 1e-14
"""Eigenvalue that is always added, for matrices of zeros [1/kg]."""


MOVED = 1e-13
"""Fraction of the largest eigenvalue of J J^T above which the joints can move a direction."""


def directions(model: Model, frame: Frame) -> int:
    """Number of directions in which the joints can move a frame: the largest rank of its Jacobian.

    Almost all configurations have this rank. It is computed as the largest rank of three arbitrary
    configurations, and is at least 1.
    """
    rank = 1
    for seed in (0.37, 0.71, 1.13):
        steps = [seed + (0.618 * i) % 1.0 for i in range(model.nv)]
        J, _ = frame_rows(
            model, integrate(model, neutral(model), steps), [0.0] * model.nv, frame, range(6)
        )
        values, _ = symmetric_eigen([[dot(a, b) for b in J] for a in J])
        rank = max(rank, sum(x > MOVED * max(values) for x in values))
    return rank


@dataclass(frozen=True)
class BoundedInertia:
    """Damped task inertia Lambda = (J M^-1 J^T + d 1)^-1, rotations scaled by a length.

    Directions in which the joints cannot move the frame at any configuration, for example of a
    gantry or a planar arm, have zero inertia and do not count as singularities.

    Attributes:
        solve: function of a scaled vector x (6), returns (J M^-1 J^T + d 1)^-1 x.
        scales: (6) scales of the rows of J: 1 for translations, 1/length for rotations.
        damped: 1.0 if the damping d is above zero, else 0.0.
    """

    solve: Callable[[Values], list[Scalar]]
    scales: list[Scalar]
    damped: Scalar

    @classmethod
    def of(
        cls, J: Rows, M_inverse_Jt: Rows, length: Scalar, largest: Scalar, rank: int
    ) -> BoundedInertia:
        """Choose the damping d such that no direction has more than the largest inertia.

        The smallest eigenvalue of A = J M^-1 J^T is 1/m, the inverse inertia of the heaviest
        direction. It is estimated from the Schatten 8-norm of A^-1. The estimate is too small by at
        most a fifth, and by less close to a singularity. If the rank is less than six, the smallest
        of that many largest eigenvalues is computed instead.

        Args:
            J: (6, nv).
            M_inverse_Jt: six columns (nv) of M^-1 J^T.
            length: length by which rotations are scaled to displacements [m].
            largest: largest inertia of a direction [kg].
            rank: as returned by `directions`.
        """
        scales = [1.0, 1.0, 1.0, *[1.0 / length] * 3]
        lower = [
            [dot(J[i], M_inverse_Jt[j]) * scales[i] * scales[j] for j in range(i + 1)]
            for i in range(6)
        ]
        mean: Scalar = 0.0
        for i in range(6):
            mean = mean + lower[i][i]
        regularization = REGULARIZATION / 6.0 * mean + MIN_EIGENVALUE
        if rank < 6:
            values, vectors = symmetric_eigen(lower)
            added = at_least(1.0 / largest - ascending([[x] for x in values])[6 - rank][0], 0.0)
            weights = [
                where_less(x, regularization, 0.0, 1.0 / (at_least(x, regularization) + added))
                for x in values
            ]

            def solve(x: Values) -> list[Scalar]:
                along = [w * dot(u, x) for w, u in zip(weights, transposed(vectors), strict=True)]
                return [dot(row, along) for row in vectors]

        else:
            inverse = inverse_of(factorize(_with_diagonal(lower, regularization)))
            fourth = times_transposed(times_transposed(inverse))
            squares: Scalar = 0.0
            for row in fourth:
                squares = squares + dot(row, row)
            smallest = 1.0 / sqrt(sqrt(sqrt(squares))) - regularization
            added = at_least(1.0 / largest - smallest, 0.0)
            factors = factorize(_with_diagonal(lower, regularization + added))

            def solve(x: Values) -> list[Scalar]:
                return solve_factorized(factors, x)

        return cls(solve, scales, where_less(0.0, added, 1.0, 0.0))

    def __matmul__(self, x: Values) -> list[Scalar]:
        """Lambda x (6)."""
        scaled = [a * s for a, s in zip(x, self.scales, strict=True)]
        return [a * s for a, s in zip(self.solve(scaled), self.scales, strict=True)]

    def null_space_torques(self, J: Rows, M_inverse_Jt: Rows, tau: Values) -> list[Scalar]:
        """N^T tau = tau - J^T Lambda J M^-1 tau (nv): torques that do not accelerate the tool.

        Args:
            J, M_inverse_Jt: as for `of`.
            tau: (nv) torques.
        """
        force = self @ [dot(column, tau) for column in M_inverse_Jt]
        return [x - dot(column, force) for x, column in zip(tau, transposed(J), strict=True)]

    def null_space_mobilities(
        self, M_inverse_Jt: Rows, M_inverse: Sequence[Values]
    ) -> list[Scalar]:
        """Diagonal (nv) of M^-1 N^T: acceleration of each joint by its own projected torque.

        Args:
            M_inverse_Jt: as for `of`.
            M_inverse: (nv, nv).
        """
        return [
            at_least(row[k] - dot(column, self @ column), 0.0)
            for k, (row, column) in enumerate(zip(M_inverse, transposed(M_inverse_Jt), strict=True))
        ]


def _with_diagonal(lower: Rows, added: Scalar) -> Rows:
    n = len(lower)
    return [
        [lower[max(i, j)][min(i, j)] + (added if i == j else 0.0) for j in range(n)]
        for i in range(n)
    ]
