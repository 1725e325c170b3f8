# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The one linear system of constrained motion: M x = f + J^T lambda with J x = target.

Accelerations of forward dynamics and velocities after an impact are both its solution; by Gauss's
principle x is, of all that meet the target, the nearest to the free M^-1 f in the metric of M.
"""

from __future__ import annotations

import numpy as np

from dynamics_ros.errors import InfeasibleError, SingularError
from dynamics_ros.multibody.linear_systems import (
    Array,
    apply,
    largest_singular_value,
    pseudo_inverse,
    transposed,
)

FEASIBILITY_TOLERANCE = 1e-6
"""Violation that counts as none: relative to the terms of which it is the difference where these
are above one SI unit (m/s^2, m/s, N), absolute below. Rounding stays a thousand times under it."""


def whitened(M: Array, J: Array) -> tuple[Array, Array]:
    """L with M = L L^T, and W = L^-1 J^T, so that J M^-1 J^T = W^T W.

    Raises:
        SingularError: M is not positive definite.
    """
    try:
        L = np.asarray(np.linalg.cholesky(M), dtype=np.float64)
    except np.linalg.LinAlgError:
        reason = 'a joint moves nothing that has mass or inertia'
        raise SingularError('mass matrix', reason) from None
    return L, np.asarray(np.linalg.solve(L, transposed(J)), dtype=np.float64)


def solve_constrained(
    M: Array, J: Array, force: Array, target: Array, contradiction: str
) -> tuple[Array, Array]:
    """x and lambda of M x = force + J^T lambda, J x = target.

    Where rows of J depend on each other lambda is not unique: the one of least norm is returned; x
    is unique always.

    Args:
        M: (..., n, n).
        J: (..., m, n).
        force: (..., n).
        target: (..., m).
        contradiction: what to say when no x meets the target.

    Raises:
        InfeasibleError: rows that depend on each other demand different things.
        SingularError: M is not positive definite.
    """
    L, W = whitened(M, J)
    free = np.asarray(np.linalg.solve(L, force[..., None])[..., 0], dtype=np.float64)
    missing = target - apply(transposed(W), free)
    inverse = pseudo_inverse(W)
    push = apply(transposed(inverse), missing)
    check_feasible(
        missing - apply(transposed(W), push),
        largest_singular_value(W) * np.linalg.norm(free, axis=-1) + np.linalg.norm(target, axis=-1),
        contradiction,
    )
    x = np.linalg.solve(transposed(L), (free + push)[..., None])[..., 0]
    return np.asarray(x), apply(inverse, push)


def check_feasible(residual: Array, scale: Array, contradiction: str) -> None:
    """Refuse a residual (..., m) that is small neither beside the scale (...) nor beside 1.

    Raises:
        InfeasibleError: with the contradiction as its problem.
    """
    violation = np.linalg.norm(residual, axis=-1)
    if (violation > FEASIBILITY_TOLERANCE * np.maximum(scale, 1.0)).any():
        raise InfeasibleError(contradiction, float(np.max(violation)))
