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
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgeqp3, dorgqr, dposv

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
    low: Array,
    high: Array,
    damping: float,
    G: Array | None = None,
    keep_direction: bool = False,
) -> Array:
    """Solve prioritized damped least squares A x = b within bounds for x (n).

    Args:
        levels: A (m, n) and b (m) of each level, highest priority first.
        low, high: (n + k) bounds of x and of G x, ``UNBOUNDED`` if there is none; low <= high.
        damping: each level minimizes |A x - b|^2 + damping^2 |x|^2.
        G: (k, n) rows. A row that no x within its bounds satisfies is violated as little as these
            allow. If rows contradict each other within the bounds, none is violated more than by
            the x nearest to zero.
        keep_direction: where bounds are active, the first level is A x = s b, as far as the bounds
            allow, with the largest s up to 1; unless no x at all has this direction.

    Raises:
        SingularError: a system is not positive definite, or the QP is not solved.
    """
    n = levels[0][0].shape[1]
    lower, upper = low[:n], high[:n]
    x, Z, base = np.minimum(np.maximum(0.0, lower), upper), np.eye(n), np.zeros(n)
    if G is None:
        G = np.empty((0, n))
    elif len(G):
        least = (G * np.where(G > 0.0, lower, upper)).sum(axis=1)
        high = np.concatenate([upper, np.maximum(high[n:], least)])
    for i, (A, b) in enumerate(levels):
        B, error = A @ Z if i else A, b - A @ base
        step = damped_step(B, error, damping) if error.any() else np.zeros(len(Z.T))
        free = base + Z @ step if i else step
        if within(free, low, high, G):
            x = free
        elif keep_direction and not i and (motions := _direction(A, b)):
            x = _along(*motions, np.sqrt(b @ b)[None], x, low, high, damping, G)
        else:
            x = _bounded(B, error, Z, base, x, low, high, damping, G)
        base = x
        if i + 1 < len(levels):
            Z = Z @ _null_space(B, math.sqrt(float(A.ravel() @ A.ravel())))
            if not Z.shape[1]:
                break
    return np.minimum(np.maximum(x, lower), upper)


def damped_step(B: Array, b: Array, damping: float) -> Array:
    """Minimizer z of |B z - b|^2 + damping^2 |z|^2 ([RD] eq. 2.207), by the smaller product."""
    if B.shape[0] < B.shape[1]:
        return B.T @ _solve_positive_definite(_regularized(B @ B.T, damping), b)
    return _solve_positive_definite(_regularized(B.T @ B, damping), B.T @ b)


def within(x: Array, low: Array, high: Array, G: Array) -> bool:
    """Whether x (n) and G x are within bounds (n + k), but for rounding."""
    values = np.concatenate([x, G @ x]) if len(G) else x
    return bool((values <= high + ROUNDING).all() and (values >= low - ROUNDING).all())


def _direction(A: Array, b: Array) -> tuple[Array, Array] | None:
    """Matrix E with E y = 0 where A x = s b / |b| for y = (s, x), and a basis of these y.

    None if s is zero for all of them.
    """
    size = math.sqrt(float(b @ b))
    if size:
        E = _with_first_column(b * (-1.0 / size), A)
        basis = _null_space(E, 1.0)
        if np.abs(basis[0]).max(initial=0.0) > RANK_TOLERANCE:
            return E, basis
    return None


def _along(
    E: Array,
    Y: Array,
    size: Array,
    x: Array,
    low: Array,
    high: Array,
    damping: float,
    G: Array,
) -> Array:
    """The x of a direction with the largest s up to a size, else those of least error in it.

    Args:
        E, Y: result of `_direction`.
        size: (1) norm of b.
        x: (n) within the bounds.
        low, high, damping, G: as of `solve_bounded`.
    """
    low, high, G = np.append(0.0, low), np.append(size, high), _with_first_column(0.0, G)
    y = np.zeros(len(x) + 1)
    try:
        return Y[1:] @ _optimum(Y[:1], size, np.concatenate([Y, G @ Y]), low, high, damping)
    except InfeasibleError:
        whole, now = np.eye(len(y)), np.append(0.0, x)
        y = _bounded(E, np.zeros(len(E)), whole, y, now, low, high, damping, G)
        return _bounded(Y[:1], size - y[:1], Y, y, y, low, high, damping, G)[1:]


def _with_first_column(column: Array | float, A: Array) -> Array:
    wider = np.empty((len(A), A.shape[1] + 1))
    wider[:, 0], wider[:, 1:] = column, A
    return wider


def _bounded(
    B: Array,
    b: Array,
    Z: Array,
    base: Array,
    x: Array,
    low: Array,
    high: Array,
    damping: float,
    G: Array,
) -> Array:
    """The base + Z z within bounds, as x (n) is, of least |B z - b|^2 + damping^2 |z|^2."""
    C, offset = np.concatenate([Z, G @ Z]), np.concatenate([base, G @ base])
    now = np.concatenate([x, G @ x])
    # The bounds hold at x but for rounding; of rows that contradict each other none gets worse.
    for kept in (len(x), len(now)):
        least, most = low.copy(), high.copy()
        least[:kept] = np.minimum(low[:kept], now[:kept])
        most[:kept] = np.maximum(high[:kept], now[:kept])
        with suppress(InfeasibleError):
            return base + Z @ _optimum(B, b, C, least - offset, most - offset, damping)
    return x  # the others are infeasible by rounding


def _optimum(B: Array, b: Array, C: Array, low: Array, high: Array, damping: float) -> Array:
    """Minimizer z of |B z - b|^2 + damping^2 |z|^2 with low <= C z <= high.

    Raises:
        InfeasibleError: no z is within the bounds.
    """
    if daqp is None:
        d = np.concatenate([high, -low])
        d[d > 0.5 * UNBOUNDED] = np.inf
        return damped_least_squares(B, b, np.concatenate([C, -C]), d, damping)
    sense = np.zeros(len(low), dtype=np.int32)
    z, _, exit_flag, _ = daqp.solve(_regularized(B.T @ B, damping), -b @ B, C, high, low, sense)
    if exit_flag == INFEASIBLE:
        raise InfeasibleError('bounds of a velocity contradict each other', np.inf)
    if exit_flag != SOLVED:
        raise SingularError('velocity problem', f'DAQP ended with {exit_flag}; more damping helps')
    return np.asarray(z)


def _null_space(A: Array, scale: float) -> Array:
    """Orthonormal basis (n, k) of the x with A x = 0; rows of a triangle count from a scale on."""
    n = A.shape[1]
    R, _, tau, _, _ = dgeqp3(A.T)
    rank = int((np.abs(R.diagonal()) > RANK_TOLERANCE * max(scale, np.finfo(float).tiny)).sum())
    Q = np.zeros((n, n), order='F')
    Q[:, : len(tau)] = R[:, : len(tau)]
    return np.ascontiguousarray(dorgqr(Q, tau, overwrite_a=True)[0][:, rank:])


def _regularized(product: Array, damping: float) -> Array:
    product.flat[:: len(product) + 1] += damping * damping
    return product


def _solve_positive_definite(H: Array, h: Array) -> Array:
    """Solution z of H z = h. LAPACK is called directly; NumPy's checks take longer than it does."""
    _, z, failed = dposv(H, h)
    if failed:
        raise SingularError('velocity problem', 'more damping helps')
    return z
