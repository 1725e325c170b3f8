# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Shape of the friction curve: the speed at which dry friction begins, and whether it fades.

All speeds have the same number of unknowns, so that nothing has to be left out to compare them: the
one that leaves the least residual is taken. A Stribeck term, which has one unknown more of each
joint, has to reduce the squared residual to ``MIN_IMPROVEMENT``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .equations import EquationMaker, Equations
from .fit import Fit
from .prior import PRIOR_WEIGHT
from .robust_weights import normal_system, ridge

Array = NDArray[np.float64]

SPEEDS = (0.005, 0.01, 0.02, 0.04)
"""Candidates [rad/s]."""

HALVINGS = 3
"""Number of halvings of the ratio of neighbouring candidates."""

MIN_IMPROVEMENT = 0.98
"""Ratio of squared residuals with and without a Stribeck term from which there is none."""


def with_best_shape(
    maker: EquationMaker,
    equations: Equations,
    fit: Fit,
    made: Callable[[EquationMaker], Equations],
) -> tuple[EquationMaker, Equations, Array]:
    """Equations with the friction curve that leaves the least residual.

    Args:
        maker, equations, fit: equations with the usual curve, and their fit.
        made: returns the equations of another maker.

    Returns:
        Maker and equations with that curve, and the standard deviation (n) of the unknowns due to
        that of the speed, with the signs of their correlation.
    """

    def squares(other: EquationMaker) -> tuple[float, Array, Equations]:
        same = all(
            getattr(other, x) == getattr(maker, x) for x in ('friction_velocity', 'stribeck')
        )
        changed = equations if same else made(other)
        H, g, c = normal_system(fit.layout, changed, fit.sigma, fit.weights)
        x = ridge(H, g, fit.prior)
        off, prior = x - fit.prior.mean, fit.prior.precision + PRIOR_WEIGHT * fit.prior.divergence
        return float(c + x @ (0.5 * H @ x - g) + 0.5 * off @ prior @ off), x, changed

    plain, fading = (_best_speed(replace(maker, stribeck=has), squares) for has in (False, True))
    return plain[1:] if fading[0] > MIN_IMPROVEMENT * plain[0] else fading[1:]


def _best_speed(
    maker: EquationMaker, squares: Callable[[EquationMaker], tuple[float, Array, Equations]]
) -> tuple[float, EquationMaker, Equations, Array]:
    """Squared residual, and results as of ``with_best_shape``, with the best speed."""
    tried: dict[float, tuple[float, Array, Equations]] = {}

    def with_speed(x: float) -> EquationMaker:
        return replace(maker, friction_velocity=float(np.exp(x)))

    def error(x: float) -> float:
        if x not in tried:
            tried[x] = squares(with_speed(x))
        return tried[x][0]

    grid = np.log(SPEEDS)
    best, step = min(grid.tolist(), key=error), float(grid[1] - grid[0])
    for _ in range(HALVINGS):
        step *= 0.5
        best = min((best - step, best, best + step), key=error)
    below, at, above = (error(best + k * step) for k in (-1, 0, 1))
    # Prior of the logarithm of the speed: a standard deviation of 1.
    information = max(below - 2.0 * at + above, 0.0) / step**2 + 1.0
    deviation = np.hypot(information**-0.5, step / np.sqrt(12.0))
    slope = (tried[best + step][1] - tried[best - step][1]) / (2.0 * step)
    return at, with_speed(best), tried[best][2], slope * deviation
