# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Over- or underdetermined linear systems, batched over leading axes.

Every rank is decided relative to a scale from the caller: J N of two matrices whose product
vanishes is rounding noise, and a cutoff relative to that noise would find full rank.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import SingularError

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


def inverse_of_positive(M: Array) -> Array:
    """Inverse of mass matrices (..., n, n): W^T W with the inverse W of the Cholesky factor.

    Raises:
        SingularError: M is not positive definite.
    """
    W = np.asarray(np.linalg.inv(cholesky(M)), dtype=np.float64)
    return np.asarray(transposed(W) @ W)


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


def rank(A: Array, scale: Array | None = None) -> NDArray[np.intp]:
    """Rank (...) of A (..., m, n).

    Args:
        A: the matrices.
        scale: (...) reference for the singular values; None is the largest of each A.
    """
    if 0 in A.shape[-2:]:
        return np.zeros(A.shape[:-2], dtype=np.intp)
    values = np.asarray(np.linalg.svd(A, compute_uv=False), dtype=np.float64)
    kept = _kept(values, scale)
    return np.asarray(kept.sum(axis=-1))


def pseudo_inverse(A: Array, scale: Array | None = None) -> Array:
    """Moore-Penrose inverse (..., n, m), [RD] eq. 2.196 to 2.199.

    Args:
        A: (..., m, n).
        scale: as for ``rank``.
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
