# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters nearest to known ones that explain efforts, with unknown signs of efforts.

    misfit^2 = min over x and signs s of  sum_j |A_j x - s_j y_j|^2 + (x - mean)^T P (x - mean),

where friction dissipates power: negative power of friction counts as a residual. For given signs, x
is linear in them, so the minimum is a quadratic form of the signs, and all signs can be tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_JOINTS = 10
"""Largest number of joints for which all signs are tried; otherwise signs change one at a time."""

SIGN_FACTOR = 1.05
"""Least factor on the squared misfit for which an opposite sign is accepted."""


RELATIVE_RANK = 1e-8
"""Ratio of singular values below which columns of a regression are dependent."""

SIGNIFICANT = 8.0
"""Ratio of a regression coefficient to its standard deviation from which it is significant."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """Best explanation of efforts.

    Attributes:
        misfit: misfit as in the equation of this module.
        x: (n) parameters.
        signs: (nv) signs of the efforts.
    """

    misfit: float
    x: Array
    signs: Array


def nearest(H: Array, G: Array, squares: float, P: Array, mean: Array, power: Array) -> Nearest:
    """Minimize the misfit over parameters and signs.

    Args:
        H: (n, n) sum of A_j^T A_j.
        G: (nv, n) A_j^T y_j.
        squares: sum of |y_j|^2.
        P: (n, n) inverse prior covariance.
        mean: (n) prior mean.
        power: (nv, n) power of friction for unit parameters, normalised by the efforts.
    """
    nv, n = G.shape
    M = H + P
    scale = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    M = M * np.outer(scale, scale) + 1e-10 * np.eye(n)
    right = np.vstack([G, P @ mean])
    Z = scale[:, np.newaxis] * np.linalg.solve(M, (right * scale).T)
    Q, whole = right @ Z, squares + float(mean @ P @ mean)

    def costs(signs: Array) -> Array:
        """(k) squared misfits of signs (k, nv)."""
        both = np.column_stack([signs, np.ones(len(signs))])
        given = np.minimum(both @ Z.T @ power.T, 0.0)
        left = whole - np.einsum('ki,ij,kj->k', both, Q, both) + (given**2).sum(axis=1)
        return np.asarray(np.maximum(left, 0.0))

    if nv <= MAX_JOINTS:
        every = np.array(list(product((1.0, -1.0), repeat=nv)))
        best = every[int(np.argmin(costs(every)))]
    else:
        found = np.array([_descend(costs, sign * np.ones(nv)) for sign in (1.0, -1.0)])
        best = found[int(np.argmin(costs(found)))]
    for j in np.flatnonzero(best < 0.0):
        usual = best.copy()
        usual[j] = 1.0
        if costs(usual[np.newaxis])[0] < SIGN_FACTOR * costs(best[np.newaxis])[0]:
            best = usual
    misfit = float(np.sqrt(costs(best[np.newaxis])[0]))
    return Nearest(misfit, Z @ np.append(best, 1.0), best)


def _descend(costs: Callable[[Array], Array], signs: Array) -> Array:
    """Descend until changing any single sign does not reduce the misfit."""
    while True:
        turned = np.where(np.eye(len(signs), dtype=bool), -signs, signs)
        tried = costs(turned)
        if tried.min() >= costs(signs[np.newaxis])[0]:
            return signs
        signs = turned[int(np.argmin(tried))]


def regression(A: Array, y: Array, count: int) -> tuple[Array, Array]:
    """The same as ``regressions`` for one regression, columns (n, c) and values (n)."""
    x, told = regressions(A[np.newaxis], y[np.newaxis], count)
    return x[0], told[0]


def regressions(A: Array, y: Array, count: int) -> tuple[Array, Array]:
    """Coefficients (k, c) of k regressions, and their ratios to their standard deviations.

    Both are 0 for empty columns.

    Args:
        A: (k, n, c) columns.
        y: (k, n) values.
        count: number of rows of a regression before compression.
    """
    size = np.linalg.norm(A, axis=1)
    known = size > 1e-9 * np.maximum(size.max(axis=1, keepdims=True), 1e-300)
    scale = np.divide(1.0, size, np.zeros_like(size), where=known)
    U, sizes, Vt = np.linalg.svd(A * scale[:, np.newaxis], full_matrices=False)
    usable = sizes > RELATIVE_RANK * np.maximum(sizes[:, :1], 1e-300)
    inverse = np.divide(1.0, sizes, np.zeros_like(sizes), where=usable)
    parts = np.einsum('knc,kn->kc', U, y)
    x = np.einsum('kdc,kd->kc', Vt, inverse * parts)
    left = y - np.einsum('knc,kc->kn', U, parts * usable)
    freedom = np.maximum(min(y.shape[1], count) - known.sum(axis=1), 1)
    spread = np.sqrt(np.einsum('kn,kn->k', left, left) / freedom) + 1e-300
    deviation = spread[:, np.newaxis] * np.linalg.norm(inverse[..., np.newaxis] * Vt, axis=1)
    told = np.clip(x / np.maximum(deviation, 1e-300), -1e3, 1e3)
    return x * scale, told
