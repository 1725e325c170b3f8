# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Evidence of external torques for a contact on one piece of a link's surface.

``estimation/contact/location.py`` has the equations. What a wrench on the link explains of the
torques is six numbers: with the Jacobian J of the link and the standard deviations of the torques,
J^T / noise = Q R, and the rows of R and y = Q^T (tau / noise) take the place of the torques. With
the wrenches W of one unknown each, of unit variance, and the ratio w of stated to actual noise,

    A = w R W diag(units),    C = 1 + A^T A,    x = C^-1 A^T w y,
    log p(y | piece) = -1/2 (|w y - A x|^2 + |x|^2 + log det C) + log Phi(x_0 / sqrt(C^-1_00)),

where Phi is the distribution function of the normal distribution: the probability that the force
x_0 along the inward normal pushes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.linear_algebra.matrices import (
    Matrix,
    product,
    scaled_columns,
    times_transposed,
    transposed,
)
from dynamics_ros.algorithms.linear_algebra.solve import dot, factorize, solve_factorized
from dynamics_ros.algorithms.quantity import Input, quantity
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import erfc, larger, log, sqrt

Values = Sequence[Scalar]

UNKNOWNS = 5
"""Unknowns of a piece: the force along the inward normal, two tangential forces, and the position
within the piece along two tangents."""

TINY = 1e-300
"""Lower bound of a probability, so that its logarithm is finite."""


@quantity(
    'how well a contact on a piece of a surface explains external torques',
    {
        'evidence': 'logarithm of the probability density of what a wrench can explain',
        'mean': 'unknown force and position in standard deviations, given the torques',
        'residuals': 'of the torques, in their standard deviations',
    },
    internal=True,
)
def location_evidence(
    explained: Annotated[Matrix, Input(6, 6)],
    torques: Annotated[Values, Input(6)],
    weight: Annotated[Scalar, Input()],
    units: Annotated[Values, Input(UNKNOWNS)],
    wrenches: Annotated[Matrix, Input(6, UNKNOWNS)],
) -> tuple[Scalar, list[Scalar], list[Scalar]]:
    """Compute the log evidence and the posterior mean of a piece.

    Args:
        explained: (6, 6) R, the torques per wrench on the link, about its origin in its axes.
        torques: (6) y, in standard deviations.
        weight: ratio w of stated to actual noise.
        units: (UNKNOWNS) standard deviations of the unknowns [N or Nm].
        wrenches: (6, UNKNOWNS) wrench on the link per unit of each unknown, about the origin of the
            link frame: force, then torque.

    Returns:
        The log evidence without constants that all pieces share; (UNKNOWNS) the posterior mean in
        standard deviations; (6) the residuals of y in actual standard deviations.
    """
    A = scaled_columns(product(explained, wrenches), [weight * unit for unit in units])
    y = [weight * value for value in torques]
    columns = transposed(A)
    C = times_transposed(columns)
    for i in range(UNKNOWNS):
        C[i][i] = 1.0 + C[i][i]
    factors = factorize(C)
    mean = solve_factorized(factors, [dot(column, y) for column in columns])
    residuals = [value - dot(row, mean) for value, row in zip(y, A, strict=True)]
    # The first unknown is eliminated last, so that its pivot is 1 / C^-1_00.
    pivots = factors[1]
    inverse_determinant = math.prod(pivots[1:], start=pivots[0])
    pushes = 0.5 * erfc(-math.sqrt(0.5) * mean[0] / sqrt(pivots[0]))
    # y^T y - b^T C^-1 b = |residuals|^2 + |mean|^2, without cancellation.
    quadratic = dot(residuals, residuals) + dot(mean, mean)
    evidence = 0.5 * (log(inverse_determinant) - quadratic) + log(larger(pushes, TINY))
    return evidence, mean, residuals
