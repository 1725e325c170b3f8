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
from typing import NamedTuple

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

ZERO, TINY = np.zeros(1), float(np.finfo(float).tiny)


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
    region = _Region(low, high, G, damping)
    for i, (A, b) in enumerate(levels):
        B, error = A @ Z if i else A, b - A @ base
        step = damped_step(B, error, damping) if error.any() else np.zeros(len(Z.T))
        free = base + Z @ step
        if region.contains(free):
            x = free
        elif i or not keep_direction or (along := region.along(A, b, x)) is None:
            x = region.nearest(B, error, Z, base, x)
        else:
            x = along
        base = x
        if i + 1 < len(levels):
            Z = Z @ _null_space(B, math.sqrt(float(A.ravel() @ A.ravel())))
            if not Z.shape[1]:
                break
    return np.minimum(np.maximum(x, lower), upper)


class _Region(NamedTuple):
    """The x (n) with low <= (x, G x) <= high, in which damped least squares are solved."""

    low: Array
    high: Array
    G: Array
    damping: float

    def values(self, x: Array) -> Array:
        """Return (x, G x)."""
        return np.concatenate([x, self.G @ x]) if len(self.G) else x

    def contains(self, x: Array) -> bool:
        """Whether x is in the region, but for rounding."""
        y = self.values(x)
        # A NaN is not in the region.
        return bool(np.maximum(y - self.high, self.low - y).max(initial=0.0) <= ROUNDING)

    def optimum(self, B: Array, b: Array, Z: Array, base: Array) -> Array:
        """The base + Z z in the region of least |B z - b|^2 + damping^2 |z|^2.

        Raises:
            InfeasibleError: there is none.
        """
        C = np.concatenate([Z, self.G @ Z]) if len(self.G) else Z
        offset = self.values(base)
        low, high = self.low - offset, self.high - offset
        if daqp is None:
            d = np.concatenate([high, -low])
            d[d > 0.5 * UNBOUNDED] = np.inf
            both = np.concatenate([C, -C])
            return base + Z @ damped_least_squares(B, b, both, d, self.damping)
        sense, H = np.zeros(len(low), dtype=np.int32), _regularized(B.T @ B, self.damping)
        z, _, exit_flag, _ = daqp.solve(H, -b @ B, C, high, low, sense)
        if exit_flag == INFEASIBLE:
            raise InfeasibleError('bounds of a velocity contradict each other', np.inf)
        if exit_flag != SOLVED:
            reason = f'DAQP ended with {exit_flag}; more damping helps'
            raise SingularError('velocity problem', reason)
        return base + Z @ z

    def nearest(self, B: Array, b: Array, Z: Array, base: Array, x: Array) -> Array:
        """The optimum in a region that x is in but for rounding, or for rows that contradict.

        Of the latter none gets worse than at x.
        """
        now = self.values(x)
        for kept in (len(x), len(now)):
            low, high = self.low.copy(), self.high.copy()
            low[:kept] = np.minimum(low[:kept], now[:kept])
            high[:kept] = np.maximum(high[:kept], now[:kept])
            with suppress(InfeasibleError):
                return self._replace(low=low, high=high).optimum(B, b, Z, base)
        return x  # the others are infeasible by rounding

    def along(self, A: Array, b: Array, x: Array) -> Array | None:
        """The x in the region with A x = s b / |b| and the largest s up to |b|.

        If there is none, those of the least error in that. None if s is zero without a region.
        The unknowns are y = (s, x), a null space of E.
        """
        size = np.sqrt(b @ b)[None]
        if not size.item():
            return None
        E = _with_first_column(-b / size, A)
        Y, zero = _null_space(E, 1.0), np.zeros(len(x) + 1)
        if max(map(abs, Y[0].tolist()), default=0.0) <= RANK_TOLERANCE:
            return None
        low, high = np.concatenate([ZERO, self.low]), np.concatenate([size, self.high])
        wider = _Region(low, high, _with_first_column(0.0, self.G), self.damping)
        try:
            return wider.optimum(Y[:1], size, Y, zero)[1:]
        except InfeasibleError:
            now = np.concatenate([ZERO, x])
            y = wider.nearest(E, np.zeros(len(E)), np.eye(len(zero)), zero, now)
            return wider.nearest(Y[:1], size - y[:1], Y, y, y)[1:]


def damped_step(B: Array, b: Array, damping: float) -> Array:
    """Minimizer z of |B z - b|^2 + damping^2 |z|^2 ([RD] eq. 2.207), by the smaller product."""
    if B.shape[0] < B.shape[1]:
        return B.T @ _solve_positive_definite(_regularized(B @ B.T, damping), b)
    return _solve_positive_definite(_regularized(B.T @ B, damping), B.T @ b)


def _with_first_column(column: Array | float, A: Array) -> Array:
    wider = np.empty((len(A), A.shape[1] + 1))
    wider[:, 0], wider[:, 1:] = column, A
    return wider


def _null_space(A: Array, scale: float) -> Array:
    """Orthonormal basis (n, k) of the x with A x = 0; rows of a triangle count from a scale on."""
    n = A.shape[1]
    R, _, tau, _, _ = dgeqp3(A.T)
    least = RANK_TOLERANCE * max(scale, TINY)
    rank = sum(abs(entry) > least for entry in R.diagonal().tolist())
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
