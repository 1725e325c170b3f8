# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Least squares with linear inequalities, by SciPy's non-negative least squares.

min |A x - b| subject to C x <= d is a least-distance problem where A has full column rank, and the
dual of that is a non-negative least squares problem ([LawsonHanson] chapter 23): an exact
active-set method that needs nothing beyond SciPy. An A of lower rank is met by proximal steps: a
little cost on the distance from the last x, which is nothing once x stays.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import InfeasibleError, SingularError
from dynamics_ros.multibody.linear_systems import Array

from .tasks import Task, solve_prioritized

PROXIMAL_WEIGHTS = (*np.geomspace(1e-3, 1e-5, 40), *[1e-5] * 60)
"""Cost of moving, relative to A, step by step. Small, so that few steps are needed; at first not
smaller, because the dual squares what separates it from one. One or two steps are usual."""

AT_REST = 1e-10
"""Change of x, relative, that counts as none."""

FEASIBLE = 1e-9
"""Violation, relative to the numbers it is the difference of, that counts as none."""

ZERO_ROW = 1e-12
"""A row of C below this share of the largest constrains nothing."""

OPTIMAL = 1e-6
"""Slope of the dual along a row that pushes; at the solution none is left but rounding."""

INCOMPATIBLE = 1e-13
"""Residual of the dual below which there is no solution; for a scaled y it is 1 / (1 + |y|^2)."""


def constrained_least_squares(A: Array, b: Array, C: Array, d: Array) -> Array:
    """An x (n) of least |A x - b| subject to C x <= d; where there are several, one near zero.

    Args:
        A: (m, n).
        b: (m).
        C: (k, n).
        d: (k); inf where there is no bound.

    Raises:
        InfeasibleError: no x satisfies C x <= d.
        SingularError: no solution was found within the steps there are; rows of A whose sizes
            differ by a factor of ten thousand can bring it about.
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
                break  # rounding says so: this x satisfies them
            raise
        # With the right inequalities the equalities give the solution in one step.
        tasks = [Task(C[active], (d - C @ x)[active]), Task(A, b - A @ x)]
        leap = solve_prioritized(tasks)
        if _feasible(C, d, x + leap) and np.linalg.norm(leap) <= 2.0 * np.linalg.norm(step):
            step = leap
        x = x + step
        if np.linalg.norm(step) <= AT_REST * max(1.0, float(np.linalg.norm(x))):
            return x
    raise SingularError('least-squares problem', 'scale its rows to numbers of the same size')


def damped_least_squares(A: Array, b: Array, C: Array, d: Array, damping: float) -> Array:
    """The x (n) of least |A x - b|^2 + damping^2 |x|^2 subject to C x <= d.

    Args:
        A: (m, n).
        b: (m).
        C: (k, n).
        d: (k); inf where there is no bound.
        damping: above 0.

    Raises:
        InfeasibleError: no x satisfies C x <= d.
        SingularError: the solver gave up.
    """
    C, d = _counting_rows(C, d)
    return _damped(A, b, C, d, damping)[0]


def _counting_rows(C: Array, d: Array) -> tuple[Array, Array]:
    """The inequalities that bind something, scaled to unit rows."""
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
    """The x of ``damped_least_squares``, and which rows push it."""
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
    # In units of the farthest bound, so that the solution is of moderate size.
    dual = np.vstack([G.T, h / farthest])
    unit = np.eye(n + 1)[n]
    push = _non_negative(dual, unit)
    if (unit - dual @ push)[n] < INCOMPATIBLE:
        raise InfeasibleError('the inequalities contradict each other', float((C @ free - d).max()))
    active = push > 0.0
    y = solve_prioritized([Task(G[active], h[active])])
    return free + np.linalg.solve(R, y), active


def _non_negative(A: Array, b: Array) -> Array:
    """The x >= 0 (n) of least |A x - b|.

    Raises:
        SingularError: the solver gave up.
    """
    try:
        x, _ = scipy.optimize.nnls(A, b)
    except RuntimeError as reason:
        raise SingularError('least-squares problem', str(reason)) from None
    if np.abs((A.T @ (A @ x - b))[x > 0.0]).max(initial=0.0) <= OPTIMAL:
        return x
    # It leant on columns that depend on each other, as where bounds meet in one point. This solver
    # is slower, and takes out what it cannot tell apart.
    x = scipy.optimize.lsq_linear(A, b, (0.0, np.inf), method='bvls', tol=1e-14).x
    return np.where(x > OPTIMAL * x.max(), x, 0.0)
