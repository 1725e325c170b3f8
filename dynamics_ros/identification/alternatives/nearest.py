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
from functools import partial
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

RELATIVE_RANK_OF_SUMS = 1e-7
"""The same for regressions from sums of products, whose rounding errors are larger."""

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
    n = G.shape[1]
    M = H + P
    scale = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    M = M * np.outer(scale, scale) + 1e-10 * np.eye(n)
    right = np.vstack([G, P @ mean])
    Z = scale[:, np.newaxis] * np.linalg.solve(M, (right * scale).T)
    whole = np.array([squares + float(mean @ P @ mean)])
    found, signs = nearest_signs((right @ Z)[np.newaxis], whole, (power @ Z)[np.newaxis])
    return Nearest(float(np.sqrt(found[0])), Z @ np.append(signs[0], 1.0), signs[0])


def nearest_signs(Q: Array, whole: Array, power: Array) -> tuple[Array, Array]:
    """Signs of the efforts with the smallest misfit, for each of k readings.

    Args:
        Q: (k, nv + 1, nv + 1) quadratic form, in the signs and 1, of what is explained.
        whole: (k) what is to be explained.
        power: (k, nv, nv + 1) power of friction, linear in the signs and 1.

    Returns:
        (k) squared misfits, and (k, nv) signs.
    """

    def costs(signs: Array, readings: NDArray[np.int64]) -> Array:
        """(k, m) squared misfits of m signs (m, nv) of some readings."""
        both = np.column_stack([signs, np.ones(len(signs))])
        given = np.minimum(both @ power[readings].transpose(0, 2, 1), 0.0)
        explained = np.einsum('kmi,mi->km', both @ Q[readings], both)
        left = whole[readings, np.newaxis] - explained + np.einsum('kmi,kmi->km', given, given)
        return np.asarray(np.maximum(left, 0.0))

    def costs_of(signs: Array) -> Array:
        """(k) squared misfits of one choice of signs (k, nv) for each reading."""
        both = np.concatenate([signs, np.ones((len(signs), 1))], axis=1)[..., np.newaxis]
        given = np.minimum(power @ both, 0.0).squeeze(-1)
        explained = (both * (Q @ both)).sum(axis=(1, 2))
        return np.asarray(np.maximum(whole - explained + (given**2).sum(axis=1), 0.0))

    k, nv = len(Q), Q.shape[1] - 1
    readings = np.arange(k)
    if nv <= MAX_JOINTS:
        every = np.array(list(product((1.0, -1.0), repeat=nv)))
        best = every[np.argmin(costs(every, readings), axis=1)]
    else:
        best = np.ones((k, nv))
        for i in readings:
            one = partial(_costs_of_one, costs, readings[i : i + 1])
            found = np.array([_descend(one, sign * best[i]) for sign in (1.0, -1.0)])
            best[i] = found[int(np.argmin(one(found)))]
    # An opposite sign has to explain the efforts better than the usual one.
    for j in range(nv if (best < 0.0).any() else 0):
        usual = best.copy()
        usual[:, j] = 1.0
        best[:, j] = np.where(costs_of(usual) < SIGN_FACTOR * costs_of(best), 1.0, best[:, j])
    return costs_of(best), best


def _costs_of_one(
    costs: Callable[[Array, NDArray[np.int64]], Array], reading: NDArray[np.int64], signs: Array
) -> Array:
    """(m) squared misfits of m signs (m, nv) of one reading."""
    found: Array = costs(signs, reading)[0]
    return found


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
    x, significance = regressions(A[np.newaxis], y[np.newaxis], count)
    return x[0], significance[0]


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
    significance = np.clip(x / np.maximum(deviation, 1e-300), -1e3, 1e3)
    return x * scale, significance


def regressions_of_sums(G: Array, count: int) -> tuple[Array, Array]:
    """The same as ``regressions``, from sums of products.

    Args:
        G: (..., c + 1, c + 1) sums of the products of all columns and, as the last one, the values.
        count: number of rows.
    """
    A, b, squares = G[..., :-1, :-1], G[..., :-1, -1], G[..., -1, -1]
    size = np.sqrt(np.diagonal(A, axis1=-2, axis2=-1))
    known = size > 1e-9 * np.maximum(size.max(axis=-1, keepdims=True), 1e-300)
    scale = np.divide(1.0, size, np.zeros_like(size), where=known)
    values, V = np.linalg.eigh(A * scale[..., np.newaxis] * scale[..., np.newaxis, :])
    usable = values > RELATIVE_RANK_OF_SUMS**2 * np.maximum(values[..., -1:], 1e-300)
    inverse = np.divide(1.0, values, np.zeros_like(values), where=usable)
    parts = np.einsum('...dc,...d->...c', V, scale * b)
    x = np.einsum('...dc,...c->...d', V, inverse * parts)
    left = squares - (inverse * parts**2).sum(axis=-1)
    # Rounding errors of the sums limit how small a residual can be found.
    left = np.maximum(left, 1e-15 * squares)
    freedom = np.maximum(count - known.sum(axis=-1), 1)
    spread = np.sqrt(left / freedom) + 1e-300
    deviation = spread[..., np.newaxis] * np.sqrt(np.einsum('...dc,...c->...d', V**2, inverse))
    significance = np.clip(x / np.maximum(deviation, 1e-300), -1e3, 1e3)
    return x * scale, significance
