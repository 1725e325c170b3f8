# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Load-dependent friction: selection of the joints that have it, and the fit with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .cross_validation import MIN_IMPROVEMENT, fold_products
from .equations import EquationMaker, Equations, FrictionShape, Load
from .fit import Fit, fit_equations
from .normal_equations import Sums
from .prior import LOAD_REACH
from .robust_weights import ridge

Array = NDArray[np.float64]
SIGNIFICANT = 2.0
"""Standard deviations by which the load coefficient has to exceed zero."""


def with_load(
    maker: EquationMaker,
    equations: Equations,
    fit: Fit,
    made: Callable[[EquationMaker], Equations],
    moving: NDArray[np.bool_],
    solver: str,
) -> tuple[EquationMaker, Equations, Fit]:
    """Add load-dependent friction to the joints for which the recording supports it.

    The load comes from the previous fit, so that the equations stay linear. The load of the final
    fit comes from a fit with load-dependent friction.

    Args:
        maker, equations, fit: equations without load-dependent friction, and their fit.
        made: returns the equations of another maker.
        moving: (nv) whether joints move.
        solver: as in ``consistency.solve``.
    """
    b, inertial = len(maker.base), fit.layout.inertial

    def loaded(fit: Fit, joints: NDArray[np.bool_]) -> tuple[EquationMaker, Equations]:
        base = maker.base.combination @ fit.x[:inertial]
        other = replace(maker, load=Load(base, fit.shape.velocity, joints))
        return other, made(other)

    other, changed = loaded(fit, moving)
    assert other.load is not None
    squares = (changed.rows[..., :b] @ other.load.base) ** 2
    usual = np.sqrt(squares.sum(axis=1) / changed.counts.sum(axis=1))
    shape = replace(fit.shape, loads=tuple((usual * moving).tolist()))
    chosen = joints_with_load(fit, changed, shape)
    if not chosen.any():
        return maker, equations, fit
    shape = replace(shape, loads=tuple((usual * chosen).tolist()))
    for _ in range(2):
        other, changed = loaded(fit, chosen)
        fit = fit_equations(other, changed, moving, solver, fit.held, (shape, fit.prior_weight))
    return other, changed, fit


def joints_with_load(fit: Fit, equations: Equations, shape: FrictionShape) -> NDArray[np.bool_]:
    """(nv) whether joints have load-dependent friction, by cross-validation.

    A joint is selected if its load term reduces the error on the omitted folds to
    ``MIN_IMPROVEMENT`` or less, and its coefficient is positive by ``SIGNIFICANT`` standard
    deviations.

    Args:
        fit: fit without load-dependent friction.
        equations: the equations with the column of the load.
        shape: friction shape with the loads.
    """
    layout, T, b = fit.layout, shape.unknowns(), len(fit.layout.base)
    parts = fold_products(equations, fit.sigma, fit.weights)
    # The column of the load does not affect the sums of bodies and rotors.
    sums = [Sums.of(layout, part) for part in parts]

    def tried(chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Errors of the joints on omitted folds, and load coefficients in standard deviations."""
        column = np.arange(parts[0].shape[-1]) == b + len(T) - 1
        off = ~chosen[:, np.newaxis, np.newaxis] & (column | column[:, np.newaxis])
        own = [np.where(off, 0.0, part) for part in parts]
        systems = [
            replace(of_bodies, gram=part).assembled(shape)[:2]
            for of_bodies, part in zip(sums, own, strict=True)
        ]
        whole_H, whole_g = (sum(system[k] for system in systems) for k in range(2))
        errors, grows = np.zeros(layout.joints), []
        for (left_H, left_g), gram in zip(systems, own, strict=True):
            x = ridge(whole_H - left_H, whole_g - left_g, fit.prior, fit.prior_weight)
            inertial = layout.base.combination @ x[: layout.inertial]
            z = np.column_stack(
                [
                    np.tile(inertial, (layout.joints, 1)),
                    layout.friction_of(x) @ T.T,
                    -np.ones(layout.joints),
                ]
            )
            errors += np.einsum('jc,jcd,jd->j', z, gram, z)
            grows.append(layout.friction_of(x)[:, 4])
        # Standard deviation by the jackknife, because residuals are correlated in time.
        spread = np.sqrt(len(grows) - 1.0) * np.std(grows, axis=0)
        return errors, np.mean(grows, axis=0) / np.maximum(spread, 1e-12)

    # Smaller loads contain no information about the coefficient.
    chosen = LOAD_REACH * np.array(shape.loads) > fit.sigma
    joints = np.arange(layout.joints)
    # Remove one joint at a time: joints share bodies, so the term of one may replace that of
    # another.
    while chosen.any():
        errors, grows = tried(chosen)
        worth = np.full(layout.joints, -np.inf)
        for j in np.flatnonzero(chosen):
            without, _ = tried(chosen & (joints != j))
            worth[j] = errors[j] / max(without[j], 1e-300) if grows[j] > SIGNIFICANT else np.inf
        worst = int(np.argmax(worth))
        if worth[worst] <= MIN_IMPROVEMENT:
            break
        chosen = chosen & (joints != worst)
    return chosen
