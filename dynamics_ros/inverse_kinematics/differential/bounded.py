# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Prioritized damped least squares within bounds: closed form, and a QP if a bound is active.

Each level is a damped least-squares problem in the null space of the previous levels ([RD] eq.
2.220 with [Nakamura1986]). The bounds apply to each level, so that a later level cannot change an
earlier one through an active bound ([Kanoun2011]). DAQP solves the QP if it is installed, otherwise
SciPy's non-negative least squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from dynamics_ros.errors import SingularError
from dynamics_ros.multibody.least_squares import Singular, damped_least_squares

try:
    import daqp
except ImportError:
    daqp = None

Array = NDArray[np.float64]

SUBSTITUTE = (
    '' if daqp else 'daqp is not installed (pip install daqp): SciPy solves where limits bind'
)
"""Message to log if DAQP is missing; '' if it is installed."""

SOLVED = 1
"""Exit flag of DAQP for an optimal solution."""

ROUNDING = 1e-10
"""Violation of a bound that counts as rounding."""


def solve_bounded(
    levels: Sequence[tuple[Array, Array]], lower: Array, upper: Array, damping: float
) -> Array:
    """Solve prioritized damped least squares A x = b within bounds for x (n).

    Args:
        levels: A (m, n) and b (m) of each level, highest priority first.
        lower, upper: (n) bounds, inf if there is none; lower <= upper.
        damping: each level minimizes |A x - b|^2 + damping^2 |x|^2.

    Raises:
        SingularError: a system is not positive definite, or the QP is not solved.
    """
    n = len(lower)
    x, Z = np.zeros(n), None
    if (lower > 0.0).any() or (upper < 0.0).any():
        x = np.clip(x, lower, upper)  # the bounds exclude zero
    last = len(levels) - 1
    for i, (A, b) in enumerate(levels):
        B = A if Z is None else A @ Z
        residual = b - A @ x if i or x.any() else b
        z = _damped_step(B, residual, damping)
        step = z if Z is None else Z @ z
        if not _within(x + step, lower, upper):
            # Despite rounding of earlier levels, the step zero must be feasible.
            low, high = np.minimum(lower - x, 0.0), np.maximum(upper - x, 0.0)
            if daqp is None:
                step = _by_least_squares(B, residual, Z, low, high, damping)
            else:
                step = _by_daqp(B, residual, Z, low, high, damping)
        x = x + step
        if i < last:
            free = Singular.of(B, float(np.linalg.norm(A))).null_space
            Z = free if Z is None else Z @ free
            if not Z.shape[1]:
                break
    return np.minimum(np.maximum(x, lower), upper)


def _damped_step(B: Array, b: Array, damping: float) -> Array:
    """Minimizer z of |B z - b|^2 + damping^2 |z|^2 ([RD] eq. 2.207), by the smaller product."""
    if B.shape[0] < B.shape[1]:
        return B.T @ _solve_positive_definite(_regularized(B @ B.T, damping), b)
    return _solve_positive_definite(_regularized(B.T @ B, damping), B.T @ b)


def _regularized(product: Array, damping: float) -> Array:
    product.flat[:: len(product) + 1] += damping * damping
    return product


def _solve_positive_definite(H: Array, h: Array) -> Array:
    """Solution z of H z = h. LAPACK is called directly; NumPy's checks take longer than it does."""
    _, z, failed = dposv(H, h)
    if failed:
        raise SingularError('velocity problem', 'more damping helps')
    return z


def _within(x: Array, lower: Array, upper: Array) -> bool:
    return bool((x <= upper + ROUNDING).all() and (x >= lower - ROUNDING).all())


def _by_least_squares(
    B: Array, b: Array, Z: Array | None, low: Array, high: Array, damping: float
) -> Array:
    """Step Z z (n) that minimizes |B z - b|^2 + damping^2 |z|^2 within low <= Z z <= high."""
    basis = np.eye(len(low)) if Z is None else Z
    C, d = np.vstack([basis, -basis]), np.concatenate([high, -low])
    return basis @ damped_least_squares(B, b, C, d, damping)


def _by_daqp(B: Array, b: Array, Z: Array | None, low: Array, high: Array, damping: float) -> Array:
    """Like `_by_least_squares`, solved by DAQP."""
    H, h = _regularized(B.T @ B, damping), B.T @ b
    rows = np.zeros((0, len(H))) if Z is None else np.ascontiguousarray(Z)
    z, _, exit_flag, _ = daqp.solve(H, -h, rows, high, low, np.zeros(len(low), dtype=np.int32))
    if exit_flag != SOLVED:
        raise SingularError('velocity problem', f'DAQP ended with {exit_flag}; more damping helps')
    return z if Z is None else Z @ z
