# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Linear system of constrained motion: M x = f + J^T lambda with J x = target.

Accelerations of forward dynamics and velocities after an impact both solve this system. By Gauss's
principle, x is the solution of J x = target that is nearest to the unconstrained M^-1 f, in the
metric of M.
"""

from __future__ import annotations

import numpy as np

from dynamics_ros.errors import InfeasibleError
from dynamics_ros.multibody.linear_systems import (
    Array,
    apply,
    cholesky,
    largest_singular_value,
    pseudo_inverse,
    transposed,
)

FEASIBILITY_TOLERANCE = 1e-6
"""Largest violation of a feasible system. It is relative to the size of the terms if that is above
one SI unit (m/s^2, m/s, N), else absolute. Rounding errors are a thousand times smaller."""


def whitened(M: Array, J: Array) -> tuple[Array, Array]:
    """L with M = L L^T, and the whitened Jacobian W = L^-1 J^T, with J M^-1 J^T = W^T W.

    Raises:
        SingularError: M is not positive definite.
    """
    L = cholesky(M)
    return L, np.asarray(np.linalg.solve(L, transposed(J)), dtype=np.float64)


def solve_constrained(
    M: Array, J: Array, force: Array, target: Array, contradiction: str
) -> tuple[Array, Array]:
    """Solve M x = force + J^T lambda, J x = target for x and lambda.

    If rows of J are dependent, lambda is not unique, and the one of least norm is returned. x is
    always unique.

    Args:
        M: (..., n, n).
        J: (..., m, n).
        force: (..., n).
        target: (..., m).
        contradiction: message of the error if no x satisfies J x = target.

    Returns:
        x (..., n) and lambda (..., m).

    Raises:
        InfeasibleError: no x satisfies J x = target, because dependent rows contradict each other.
        SingularError: M is not positive definite.
    """
    L, W = whitened(M, J)
    free = np.asarray(np.linalg.solve(L, force[..., None])[..., 0], dtype=np.float64)
    required = target - apply(transposed(W), free)
    inverse = pseudo_inverse(W)
    correction = apply(transposed(inverse), required)
    check_feasible(
        required - apply(transposed(W), correction),
        largest_singular_value(W) * np.linalg.norm(free, axis=-1) + np.linalg.norm(target, axis=-1),
        contradiction,
    )
    x = np.linalg.solve(transposed(L), (free + correction)[..., None])[..., 0]
    return np.asarray(x), apply(inverse, correction)


def check_feasible(residual: Array, scale: Array, contradiction: str) -> None:
    """Check that residuals (..., m) are small relative to the scale (...), or to 1 if larger.

    Raises:
        InfeasibleError: a residual is too large; ``contradiction`` is the message.
    """
    violation = np.linalg.norm(residual, axis=-1)
    if (violation > FEASIBILITY_TOLERANCE * np.maximum(scale, 1.0)).any():
        raise InfeasibleError(contradiction, float(np.max(violation)))
