# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics as a linear function of inertial parameters, and its triangular factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError

from .arguments import finite_together
from .kernel_methods import Array
from .quantity_methods import QuantityMethods

LANES = 64
"""Number of triangles that are accumulated side by side, each from a share of the states."""


class Regressors(QuantityMethods):
    """Torques as a linear function of inertial parameters."""

    def inertial_parameters(self) -> Array:
        """pi (10 bodies) of the model, in the order of the columns of ``regressor``."""
        return np.array([inertia.parameters() for inertia in self.model.inertias]).ravel()

    def regressor_r_factor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        tau: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        columns: Sequence[int] | NDArray[np.integer] | None = None,
    ) -> Array:
        """R (c, c) of the QR factorization of the regressor over all states, without storing it.

        With A the chosen columns of W Y of all states, one below another, A = Q R, so R^T R =
        A^T A without the rounding errors of this product. Least squares, ranks, determinants and
        singular values of A follow from R. R is upper triangular with a non-negative diagonal. The
        R factors of two recordings, one below the other, have the R factor of both:
        ``numpy.linalg.qr(stacked, mode='r')``.

        Args:
            q, v, a: configurations, velocities, accelerations.
            tau: (..., nv) torques: W tau is the last column of A. None: there is no such column.
            weights: (nv) or (..., nv) diagonal of W, such as inverse standard deviations of
                torques; None: ones.
            columns: indices of columns of Y, and beyond these of rotor inertias, one per entry of
                v; None: all columns of Y. A kernel is compiled for each choice; its number of
                operations grows with the square of the number of columns. Base parameters
                (``BaseParameters.of(robot).chosen``) are the largest choice with an invertible R.

        Raises:
            InvalidArgumentError: an argument is wrong, or numbers are so large that R overflows.
            TooLargeError: too many columns for one kernel.
        """
        states = finite_together(
            q=(q, self.nq),
            v=(v, self.nv),
            a=(a, self.nv),
            tau=(np.zeros(self.nv) if tau is None else tau, self.nv),
            weights=(np.ones(self.nv) if weights is None else weights, self.nv),
        )
        if columns is None:
            columns = range(10 * len(self.model.body_names))
        if len(columns) == 0 or len(set(columns)) < len(columns):
            problem = 'an index twice' if len(columns) else 'no index'
            raise InvalidArgumentError('columns', problem, 'one index or more, each once')
        kernel = self.kernel('regressor_factor_step', *map(str, columns))
        leading = np.broadcast_shapes(*(x.shape[:-1] for x in states))
        rows = [np.broadcast_to(x, (*leading, x.shape[-1])) for x in states]
        flat = [x.reshape(-1, x.shape[-1]) for x in rows]
        R = _accumulated(kernel, flat, len(columns) + 1)
        return R if tau is not None else R[:-1, :-1].copy()


def _accumulated(step: Callable[..., Any], states: Sequence[Array], columns: int) -> Array:
    """R (columns, columns) of rows of many states.

    Args:
        step: kernel of a batch of states and packed triangles, which returns the next triangles.
        states: (n, ...) arrays, one per input of the kernel except the triangle.
        columns: number of columns.
    """
    upper = np.triu_indices(columns)
    lanes = min(LANES, max(1, len(states[0])))
    packed, following = np.zeros((2, lanes, len(upper[0])))
    for first in range(0, len(states[0]), LANES):
        taken = [x[first : first + LANES] for x in states]
        count = len(taken[0])
        step(*taken, packed[:count], out=following[:count])
        following[count:] = packed[count:]
        packed, following = following, packed
    triangles = np.zeros((lanes, columns, columns))
    triangles[:, upper[0], upper[1]] = packed
    R = np.asarray(np.linalg.qr(triangles.reshape(-1, columns), mode='r'))
    return R * np.copysign(1.0, np.diag(R))[:, np.newaxis]
