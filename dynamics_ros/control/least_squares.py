# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Least squares with linear inequalities, by SciPy's non-negative least squares.

min |A x - b| subject to C x <= d is a least-distance problem if A has full column rank, and its
dual is a non-negative least-squares problem ([LawsonHanson] chapter 23): an exact active-set method
that needs nothing beyond SciPy. If A has lower rank, proximal steps add a small cost on the
distance from the previous x, which vanishes at convergence.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import InfeasibleError, SingularError
from dynamics_ros.multibody.linear_systems import Array

from .tasks import Task, solve_prioritized

PROXIMAL_WEIGHTS = (*np.geomspace(1e-3, 1e-5, 40), *[1e-5] * 60)
"""Proximal cost of each step, relative to A. Small values need few steps.

The first ones are larger, because the dual squares their ratio to one. One or two steps are usual.
"""

AT_REST = 1e-10
"""Relative change of x that counts as zero."""

FEASIBLE = 1e-9
"""Violation that counts as zero, relative to the numbers that are subtracted."""

ZERO_ROW = 1e-12
"""Rows of C below this share of the largest row are ignored."""

OPTIMAL = 1e-6
"""Largest slope of the dual along an active row at a solution, where only rounding remains."""

INCOMPATIBLE = 1e-13
"""Residual of the dual below which the problem is infeasible; it is 1 / (1 + |y|^2) for a scaled y.
"""


def constrained_least_squares(A: Array, b: Array, C: Array, d: Array) -> Array:
    """Minimize |A x - b| over x (n) subject to C x <= d.

    Among several solutions the result is one near zero.

    Args:
        A: (m, n).
        b: (m).
        C: (k, n).
        d: (k); inf where there is no bound.

    Raises:
        InfeasibleError: no x satisfies C x <= d.
        SingularError: the iteration did not converge, e.g. because rows of A differ in size by a
            factor of ten thousand.
    """
    C, d = _counting_rows(C, d)
    x = solve_prioritized([Task(A, b)])
    if _feasible(C, d, x):
        return x
    x = np.zeros(A.shape[1])
    size = max(float(np.linalg.norm(A, 2)) if A.size else 0.0, 1e-3)
    for weight in PROXIMAL_WEIGHTS:
        try:
            cost = float(weight) * size
            step, active = _damped(A, b - A @ x, C, d - C @ x, cost)
        except InfeasibleError:
            if _feasible(C, d, x):
                break  # only by rounding: this x satisfies the inequalities
            raise
        # With the right active set, the equalities give the solution in one step.
        tasks = [Task(C[active], (d - C @ x)[active]), Task(A, b - A @ x)]
        leap = solve_prioritized(tasks)
        if _feasible(C, d, x + leap) and np.linalg.norm(leap) <= 2.0 * np.linalg.norm(step):
            step = leap
        x = x + step
        if np.linalg.norm(step) <= AT_REST * max(1.0, float(np.linalg.norm(x))):
            return x
    raise SingularError('least-squares problem', 'scale its rows to numbers of the same size')


def damped_least_squares(A: Array, b: Array, C: Array, d: Array, damping: float) -> Array:
    """Minimize |A x - b|^2 + damping^2 |x|^2 over x (n) subject to C x <= d.

    Args:
        A: (m, n).
        b: (m).
        C: (k, n).
        d: (k); inf where there is no bound.
        damping: above 0.

    Raises:
        InfeasibleError: no x satisfies C x <= d.
        SingularError: the solver failed.
    """
    C, d = _counting_rows(C, d)
    return _damped(A, b, C, d, damping)[0]


def _counting_rows(C: Array, d: Array) -> tuple[Array, Array]:
    """Inequalities with a finite bound and a non-zero row, scaled to unit rows."""
    norms = np.linalg.norm(C, axis=1)
    zero = norms <= ZERO_ROW * max(float(norms.max(initial=0.0)), 1.0)
    if (d[zero] < -FEASIBLE).any():
        raise InfeasibleError('an inequality without variables is false', float(-d[zero].min()))
    kept = ~zero & np.isfinite(d)
    return C[kept] / norms[kept, None], d[kept] / norms[kept]


def _feasible(C: Array, d: Array, x: Array) -> bool:
    scale = FEASIBLE * (1.0 + np.abs(d) + float(np.linalg.norm(x)))
    return bool((C @ x - d <= scale).all())


def _damped(
    A: Array, b: Array, C: Array, d: Array, damping: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Solution x of ``damped_least_squares`` and the mask of its active rows."""
    n = A.shape[1]
    Q, R = np.linalg.qr(np.vstack([A, damping * np.eye(n)]))
    free = np.linalg.solve(R, Q[: len(A)].T @ b)
    # With y = R (x - free) the problem is: least |y| with G y >= h.
    G = -np.linalg.solve(R.T, C.T).T
    h = C @ free - d
    norms = np.linalg.norm(G, axis=1)
    G, h = G / norms[:, None], h / norms
    active = np.zeros(len(C), dtype=bool)
    farthest = float(h.max(initial=0.0))
    if farthest <= 0.0:
        return free, active
    # Scaled by the farthest bound, so that the solution is of moderate size.
    dual = np.vstack([G.T, h / farthest])
    unit = np.eye(n + 1)[n]
    push = _non_negative(dual, unit)
    if (unit - dual @ push)[n] < INCOMPATIBLE:
        raise InfeasibleError('the inequalities contradict each other', float((C @ free - d).max()))
    active = push > 0.0
    y = solve_prioritized([Task(G[active], h[active])])
    return free + np.linalg.solve(R, y), active


def _non_negative(A: Array, b: Array) -> Array:
    """Minimize |A x - b| over x >= 0 (n).

    Raises:
        SingularError: the solver failed.
    """
    try:
        x, _ = scipy.optimize.nnls(A, b)
    except RuntimeError as reason:
        raise SingularError('least-squares problem', str(reason)) from None
    if np.abs((A.T @ (A @ x - b))[x > 0.0]).max(initial=0.0) <= OPTIMAL:
        return x
    # The result uses linearly dependent columns, e.g. where bounds meet in one point. This solver
    # is slower but drops dependent columns.
    x = scipy.optimize.lsq_linear(A, b, (0.0, np.inf), method='bvls', tol=1e-14).x
    return np.where(x > OPTIMAL * x.max(), x, 0.0)
