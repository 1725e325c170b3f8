# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Over- or underdetermined linear systems, and least squares with linear inequalities.

Every rank is decided relative to a scale from the caller: J N of two matrices whose product
vanishes is rounding noise, and a cutoff relative to that noise would find full rank. Systems are
batched over leading axes.

min |A x - b| subject to C x <= d is a least-distance problem if A has full column rank, and its
dual is a non-negative least-squares problem ([LawsonHanson] chapter 23): an exact active-set method
that needs nothing beyond SciPy. If A has lower rank, proximal steps add a small cost on the
distance from the previous x, which vanishes at convergence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import InfeasibleError, SingularError

Array = NDArray[np.float64]

RANK_TOLERANCE = 1e-8
"""Singular values below this share of the scale count as zero: half the digits of a double, so
that quotients keep as many digits as they lose.
"""


def transposed(A: Array) -> Array:
    """A^T over leading axes."""
    return np.swapaxes(A, -1, -2)


def apply(A: Array, x: Array) -> Array:
    """A x over leading axes."""
    return np.asarray((A @ x[..., None])[..., 0])


def cholesky(M: Array) -> Array:
    """L with M = L L^T of mass matrices (..., n, n).

    Raises:
        SingularError: M is not positive definite.
    """
    try:
        return np.asarray(np.linalg.cholesky(M), dtype=np.float64)
    except np.linalg.LinAlgError:
        reason = 'a joint moves nothing that has mass or inertia'
        raise SingularError('mass matrix', reason) from None


def largest_singular_value(A: Array) -> Array:
    """Spectral norm (...) of A (..., m, n); 0 when m or n is."""
    if 0 in A.shape[-2:]:
        return np.zeros(A.shape[:-2])
    return np.asarray(np.linalg.svd(A, compute_uv=False)[..., 0])


def rank(A: Array) -> NDArray[np.intp]:
    """Rank (...) of A (..., m, n), of singular values relative to the largest of each A."""
    if 0 in A.shape[-2:]:
        return np.zeros(A.shape[:-2], dtype=np.intp)
    values = np.asarray(np.linalg.svd(A, compute_uv=False), dtype=np.float64)
    return np.asarray(_kept(values, None).sum(axis=-1))


def pseudo_inverse(A: Array, scale: Array | None = None) -> Array:
    """Moore-Penrose inverse (..., n, m), [RD] eq. 2.196 to 2.199.

    Args:
        A: (..., m, n).
        scale: (...) reference for the singular values; None is the largest of each A.
    """
    if 0 in A.shape[-2:]:
        return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]))
    U, values, Vt = np.linalg.svd(A, full_matrices=False)
    kept = _kept(values, scale)
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return np.asarray((transposed(Vt) * inverse[..., None, :]) @ transposed(U))


def _kept(values: Array, scale: Array | None) -> NDArray[np.bool_]:
    reference = values[..., 0] if scale is None else np.asarray(scale)
    return values > RANK_TOLERANCE * np.maximum(reference, np.finfo(float).tiny)[..., None]


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


class Singular(NamedTuple):
    """Singular value decomposition A = U diag(values) V^T of A (m, n).

    Attributes:
        U: (m, k) with k = min(m, n).
        values: (n), zeros after the first k.
        V: (n, n).
        rank: number of values that count.
    """

    U: Array
    values: Array
    V: Array
    rank: int

    @classmethod
    def of(cls, A: Array, scale: float | None = None) -> Singular:
        """Decompose A; values count relative to ``scale``, by default the largest of them."""
        m, n = A.shape
        if not m or not n:
            return cls(np.zeros((m, 0)), np.zeros(n), np.eye(n), 0)
        U, values, Vt = np.linalg.svd(A, full_matrices=m < n)
        largest = values[0] if scale is None else scale
        rank = int((values > RANK_TOLERANCE * max(largest, np.finfo(float).tiny)).sum())
        return cls(U[:, : len(values)], np.append(values, np.zeros(n - len(values))), Vt.T, rank)

    def least_squares(self, b: Array) -> Array:
        """The smallest x (n) of those that minimize |A x - b|."""
        r = self.rank
        return np.asarray(self.V[:, :r] @ ((self.U[:, :r].T @ b) / self.values[:r]))

    @property
    def null_space(self) -> Array:
        """Orthonormal basis (n, n - rank) of the x with A x = 0."""
        return self.V[:, self.rank :]


def feasible(C: Array, d: Array, x: Array) -> bool:
    """Whether C x <= d, but for rounding."""
    scale = FEASIBLE * (1.0 + np.abs(d) + float(np.linalg.norm(x)))
    return bool((C @ x - d <= scale).all())


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
    singular = Singular.of(A)
    x = singular.least_squares(b)
    if feasible(C, d, x):
        return x
    n = A.shape[1]
    if singular.rank == n:
        return _nearest(x, singular.V / singular.values, C, d)[0]
    if not singular.rank:
        return _nearest(np.zeros(n), np.eye(n), C, d)[0]
    x = np.zeros(n)
    size = max(float(singular.values[0]), 1e-3)
    for weight in PROXIMAL_WEIGHTS:
        try:
            step, active = _damped(singular, b - A @ x, C, d - C @ x, float(weight) * size)
        except InfeasibleError:
            if feasible(C, d, x):
                break  # only by rounding: this x satisfies the inequalities
            raise
        # With the right active set, the equalities give the solution in one step.
        of_active = Singular.of(C[active])
        leap = of_active.least_squares((d - C @ x)[active])
        free = of_active.null_space
        rest = Singular.of(A @ free, float(singular.values[0]))
        leap = leap + free @ rest.least_squares(b - A @ (x + leap))
        if feasible(C, d, x + leap) and np.linalg.norm(leap) <= 2.0 * np.linalg.norm(step):
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
    return _damped(Singular.of(A), b, C, d, damping)[0]


def _damped(
    singular: Singular, b: Array, C: Array, d: Array, damping: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Solution x of ``damped_least_squares`` and the mask of its active rows."""
    U, values, V, _ = singular
    k = U.shape[1]
    lengths = np.hypot(values, damping)
    free = V[:, :k] @ (values[:k] / lengths[:k] ** 2 * (U.T @ b))
    return _nearest(free, V / lengths, C, d)


def _counting_rows(C: Array, d: Array) -> tuple[Array, Array]:
    """Inequalities with a finite bound and a non-zero row, scaled to unit rows."""
    norms = np.linalg.norm(C, axis=1)
    zero = norms <= ZERO_ROW * max(float(norms.max(initial=0.0)), 1.0)
    if (d[zero] < -FEASIBLE).any():
        raise InfeasibleError('an inequality without variables is false', float(-d[zero].min()))
    kept = ~zero & np.isfinite(d)
    return C[kept] / norms[kept, None], d[kept] / norms[kept]


def _nearest(center: Array, W: Array, C: Array, d: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The x with C x <= d and the least |W^-1 (x - center)|, and the mask of its active rows."""
    # With x = center + W y the problem is: least |y| with G y >= h.
    G, h = -(C @ W), C @ center - d
    norms = np.linalg.norm(G, axis=1)
    G, h = G / norms[:, None], h / norms
    active = np.zeros(len(C), dtype=bool)
    farthest = float(h.max(initial=0.0))
    if farthest <= 0.0:
        return center, active
    # Scaled by the farthest bound, so that the solution is of moderate size.
    dual = np.vstack([G.T, h / farthest])
    unit = np.eye(len(dual))[-1]
    push = _non_negative(dual, unit)
    if (unit - dual @ push)[-1] < INCOMPATIBLE:
        violation = float((C @ center - d).max())
        raise InfeasibleError('the inequalities contradict each other', violation)
    active = push > 0.0
    return center + W @ (pseudo_inverse(G[active]) @ h[active]), active


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
