# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Prioritized damped least squares within bounds: closed form, and a QP if a bound is active.

Each level is a damped least-squares problem in the null space of the previous levels ([RD] eq.
2.220 with [Nakamura1986]). The bounds apply to each level, so that a later level cannot change an
earlier one through an active bound ([Kanoun2011]). DAQP solves the QP if it is installed, otherwise
SciPy's non-negative least squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgesdd, dposv

from dynamics_ros.errors import InfeasibleError, SingularError
from dynamics_ros.multibody.linear_systems import RANK_TOLERANCE, damped_least_squares

from .limits import UNBOUNDED

try:
    import daqp
except ImportError:
    daqp = None

Array = NDArray[np.float64]

SUBSTITUTE = (
    '' if daqp else 'daqp is not installed (pip install daqp): SciPy solves where limits bind'
)
"""Message to log if DAQP is missing; '' if it is installed."""

SOLVED, INFEASIBLE = 1, -1
"""Exit flags of DAQP."""

ROUNDING = 1e-10
"""Violation of a bound that counts as rounding."""


def solve_bounded(
    levels: Sequence[tuple[Array, Array]],
    lower: Array,
    upper: Array,
    damping: float,
    rows: tuple[Array, Array] | None = None,
    bind: bool = False,
) -> Array:
    """Solve prioritized damped least squares A x = b within bounds for x (n).

    Args:
        levels: A (m, n) and b (m) of each level, highest priority first.
        lower, upper: (n) bounds, ``UNBOUNDED`` if there is none; lower <= upper.
        damping: each level minimizes |A x - b|^2 + damping^2 |x|^2.
        rows: G (k, n) and h (k): G x <= h. A row that no x within the bounds satisfies is violated
            as little as these allow. If rows contradict each other within the bounds, none is
            violated more than by the x nearest to zero.
        bind: limits are known to bind, so that the closed form is not tried.

    Raises:
        SingularError: a system is not positive definite, or the QP is not solved.
    """
    x, Z = np.minimum(np.maximum(0.0, lower), upper), None  # zero, unless the bounds exclude it
    if rows is not None:
        least = rows[0] * np.where(rows[0] > 0.0, lower, upper)
        rows = rows[0], np.maximum(rows[1], least.sum(axis=1))
    last, moved = len(levels) - 1, bool(x.any())
    for i, (A, b) in enumerate(levels):
        B = A if Z is None else A @ Z
        residual = b - A @ x if moved else b
        if residual.any() or (rows is not None and moved):
            more = None if rows is None else (rows[0], rows[1] - rows[0] @ x)
            x = x + _step(B, residual, Z, lower - x, upper - x, damping, more, bind)
            moved = True
        if i < last:
            free = _null_space(B, math.sqrt(float(A.ravel() @ A.ravel())))
            Z = free if Z is None else Z @ free
            if not Z.shape[1]:
                break
    return np.minimum(np.maximum(x, lower), upper)


def _step(
    B: Array,
    b: Array,
    Z: Array | None,
    low: Array,
    high: Array,
    damping: float,
    rows: tuple[Array, Array] | None,
    bind: bool,
) -> Array:
    """Step Z z (n) that minimizes |B z - b|^2 + damping^2 |z|^2, within low and high.

    G x <= h of ``rows`` holds, too; rows that contradict each other become no worse.
    """
    if not bind:
        z = damped_step(B, b, damping)
        step = z if Z is None else Z @ z
        if within(step, low, high, rows):
            return step
    # Despite rounding of earlier levels, the step zero must be feasible.
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    solve = _by_least_squares if daqp is None else _by_daqp
    for most in (rows, None if rows is None else (rows[0], np.maximum(rows[1], 0.0))):
        try:
            z = solve(B, b, Z, low, high, damping, most)
        except InfeasibleError:
            continue
        return z if Z is None else Z @ z
    return np.zeros(len(low))  # which rounding alone made infeasible


def damped_step(B: Array, b: Array, damping: float) -> Array:
    """Minimizer z of |B z - b|^2 + damping^2 |z|^2 ([RD] eq. 2.207), by the smaller product."""
    if B.shape[0] < B.shape[1]:
        return B.T @ _solve_positive_definite(_regularized(B @ B.T, damping), b)
    return _solve_positive_definite(_regularized(B.T @ B, damping), B.T @ b)


def _null_space(A: Array, scale: float) -> Array:
    """Orthonormal basis (n, k) of the x with A x = 0; singular values count relative to a scale."""
    m, n = A.shape
    _, values, Vt, failed = dgesdd(A, full_matrices=int(m < n))
    if failed:
        raise SingularError('velocity problem', 'its singular values do not converge')
    rank = int((values > RANK_TOLERANCE * max(scale, np.finfo(float).tiny)).sum())
    return np.asarray(Vt[rank:].T)


def _regularized(product: Array, damping: float) -> Array:
    product.flat[:: len(product) + 1] += damping * damping
    return product


def _solve_positive_definite(H: Array, h: Array) -> Array:
    """Solution z of H z = h. LAPACK is called directly; NumPy's checks take longer than it does."""
    _, z, failed = dposv(H, h)
    if failed:
        raise SingularError('velocity problem', 'more damping helps')
    return z


def within(x: Array, lower: Array, upper: Array, rows: tuple[Array, Array] | None) -> bool:
    """Whether x (n) is within bounds and G x <= h of ``rows``, but for rounding."""
    if not ((x <= upper + ROUNDING).all() and (x >= lower - ROUNDING).all()):
        return False
    return rows is None or bool((rows[0] @ x <= rows[1] + ROUNDING).all())


def _by_least_squares(
    B: Array,
    b: Array,
    Z: Array | None,
    low: Array,
    high: Array,
    damping: float,
    rows: tuple[Array, Array] | None,
) -> Array:
    """Solution z of the QP of `_step`, by SciPy."""
    basis = np.eye(len(low)) if Z is None else Z
    C, d = np.vstack([basis, -basis]), np.concatenate([high, -low])
    d = np.where(d < 0.5 * UNBOUNDED, d, np.inf)
    if rows is not None:
        C, d = np.vstack([C, rows[0] @ basis]), np.append(d, rows[1])
    return damped_least_squares(B, b, C, d, damping)


def _by_daqp(
    B: Array,
    b: Array,
    Z: Array | None,
    low: Array,
    high: Array,
    damping: float,
    rows: tuple[Array, Array] | None,
) -> Array:
    """Solution z of the QP of `_step`, by DAQP."""
    # DAQP takes the first bounds as those of z itself where there are more than rows.
    C = np.empty((0, len(low))) if Z is None else np.ascontiguousarray(Z)
    if rows is not None:
        C = np.concatenate([C, rows[0] if Z is None else rows[0] @ Z])
        high = np.concatenate([high, rows[1]])
        low = np.concatenate([low, np.full(len(rows[1]), -np.inf)])
    sense = np.zeros(len(low), dtype=np.int32)
    z, _, exit_flag, _ = daqp.solve(_regularized(B.T @ B, damping), -b @ B, C, high, low, sense)
    if exit_flag == INFEASIBLE:
        raise InfeasibleError('bounds of a velocity contradict each other', np.inf)
    if exit_flag != SOLVED:
        raise SingularError('velocity problem', f'DAQP ended with {exit_flag}; more damping helps')
    return np.asarray(z)
