"""Least squares with linear inequalities, by SciPy's non-negative least squares.

min |A x - b| subject to C x <= d is a least-distance problem, whose dual is a non-negative least
squares problem ([LawsonHanson] chapter 23): an exact active-set method that needs nothing beyond
SciPy. The dual says which inequalities are active; x itself then comes from the equalities, so
that it is exact to rounding.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from ..errors import InfeasibleError
from ..linear_systems import Array
from .tasks import Task, solve_prioritized

REGULARIZATION = 1e-6
"""Weight, relative to A, that makes the minimum unique while the active set is found. It displaces
the active set by its square only, and the final x not at all."""

ZERO_ROW = 1e-12
"""A row of C below this share of the largest constrains nothing."""

INCOMPATIBLE = 1e-9
"""Residual of the dual below which there is no solution; for a scaled y it is 1 / (1 + |y|^2)."""


def constrained_least_squares(A: Array, b: Array, C: Array, d: Array) -> Array:
    """The x (n) of least |A x - b|, and of those of least |x|, subject to C x <= d.

    Args:
        A: (m, n).
        b: (m).
        C: (k, n).
        d: (k); inf where there is no bound.

    Raises:
        InfeasibleError: no x satisfies C x <= d.
    """
    bounded = np.isfinite(d)
    C, d = C[bounded], d[bounded]
    active = _active_rows(A, b, C, d)
    tasks = [Task(C[active], d[active])] if active.any() else []
    return solve_prioritized([*tasks, Task(A, b)])


def _active_rows(A: Array, b: Array, C: Array, d: Array) -> Array:
    """Mask of the inequalities that hold with equality and push."""
    n = A.shape[1]
    weight = REGULARIZATION * max(float(np.linalg.norm(A, 2)) if A.size else 0.0, 1.0)
    regularized = np.vstack([A, weight * np.eye(n)])
    Q, R = np.linalg.qr(regularized)
    free = np.linalg.solve(R, Q[: len(A)].T @ b)
    # With y = R (x - free) the problem is: least |y| with -C R^-1 y >= C free - d.
    G = -np.linalg.solve(R.T, C.T).T
    h = C @ free - d
    norms = np.linalg.norm(G, axis=1)
    rows = np.linalg.norm(C, axis=1)
    kept = rows > ZERO_ROW * max(float(rows.max(initial=0.0)), 1.0)
    if (h[~kept] > ZERO_ROW * np.maximum(1.0, np.abs(d[~kept]))).any():
        raise InfeasibleError('an inequality without variables is false', float(h[~kept].max()))
    active = np.zeros(len(C), dtype=bool)
    distances = h[kept] / norms[kept]
    farthest = float(distances.max(initial=0.0))
    if farthest <= 0.0:
        return active
    # In units of the farthest bound, so that the solution is of order one.
    dual = np.vstack([(G[kept] / norms[kept, None]).T, distances / farthest])
    push, _ = nnls(dual, np.eye(n + 1)[n])
    residual = np.eye(n + 1)[n] - dual @ push
    if residual[n] < INCOMPATIBLE:
        raise InfeasibleError('the inequalities contradict each other', float(h.max()))
    active[kept] = push > 0.0
    return active
