# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Curve of dry friction, and friction that depends on the load.

The speed at which dry friction begins is the one that leaves the least residual. A Stribeck
term has one unknown more of each joint and has to reduce the squared residual. Load-dependent
friction is selected joint by joint, by cross-validation.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .equations import EquationMaker, Equations
from .fit import FRICTION, LOAD_REACH, Fit, grams, solved, squares
from .problem import Problem

Array = NDArray[np.float64]

SPEEDS = (0.005, 0.01, 0.02, 0.04)
"""Candidates of the speed at which dry friction reaches 76 % [rad/s]."""

HALVINGS = 3
"""Number of halvings of the ratio of neighbouring candidates."""

MAX_STRIBECK_RATIO = 0.98
"""Ratio of squared residuals with and without a Stribeck term up to which there is one."""

MIN_IMPROVEMENT, FOLDS = 0.99, 5
"""Ratio of the errors on omitted folds that the load term of a joint has to reach; their number."""

SIGNIFICANT = 2.0
"""Standard deviations by which the load coefficient has to exceed zero."""


def choose_curve(problem: Problem) -> None:
    """Stage: the speed at which dry friction begins, and whether it fades with the speed."""
    if not problem.uses('curve'):
        return
    plain, fading = (_Search(problem, has).best() for has in (False, True))
    _, problem.maker, problem.equations, of_speed = (
        plain if fading[0] > MAX_STRIBECK_RATIO * plain[0] else fading
    )
    problem.refit()
    problem.fit = replace(problem.fit, of_speed=of_speed)


class _Search:
    """Search of the friction speed, with or without a Stribeck term."""

    def __init__(self, problem: Problem, stribeck: bool) -> None:
        self._problem, self._stribeck = problem, stribeck
        self._tried: dict[float, tuple[float, Array, EquationMaker, Equations]] = {}

    def best(self) -> tuple[float, EquationMaker, Equations, Array]:
        """Squared residual, maker and equations with the best speed.

        The last value is the standard deviation (n) of the unknowns due to that of the speed, with
        the signs of their correlation.
        """
        grid = np.log(SPEEDS)
        best, step = min(grid.tolist(), key=self._squares), float(grid[1] - grid[0])
        for _ in range(HALVINGS):
            step *= 0.5
            best = min((best - step, best, best + step), key=self._squares)
        below, at, above = (self._squares(best + k * step) for k in (-1, 0, 1))
        # Prior of the logarithm of the speed: a standard deviation of 1.
        information = max(below - 2.0 * at + above, 0.0) / step**2 + 1.0
        deviation = np.hypot(information**-0.5, step / np.sqrt(12.0))
        slope = (self._tried[best + step][1] - self._tried[best - step][1]) / (2.0 * step)
        return at, *self._tried[best][2:], slope * deviation

    def _squares(self, logarithm: float) -> float:
        if logarithm not in self._tried:
            fit, speed = self._problem.fit, float(np.exp(logarithm))
            maker = replace(self._problem.maker, friction_velocity=speed, stribeck=self._stribeck)
            equations = self._problem.equations_of(maker)
            gram = grams(equations, fit.weights / fit.sigma[:, np.newaxis] ** 2)
            x = solved(fit.layout, gram, fit.prior)
            off = x - fit.prior.mean
            left = squares(fit.layout, gram, x).sum() + off @ fit.prior.information @ off
            self._tried[logarithm] = 0.5 * float(left), x, maker, equations
        return self._tried[logarithm][0]


def add_load(problem: Problem) -> None:
    """Stage: load-dependent friction of the joints for which the recording supports it.

    The load comes from the previous fit, so that the equations stay linear. The load of the final
    fit comes from a fit with load-dependent friction.
    """
    if not problem.uses('load'):
        return
    b, fit, of_speed = len(problem.maker.base), problem.fit, problem.fit.of_speed
    other, changed = _loaded(problem, problem.moved)
    assert other.load is not None
    carried = np.einsum('jrb,jb->jr', changed.rows[..., :b], other.load)
    usual = np.sqrt((carried**2).sum(axis=1) / changed.counts.sum(axis=1))
    chosen = joints_with_load(fit, changed, usual)
    for _ in range(2 if chosen.any() else 0):
        problem.maker, problem.equations = _loaded(problem, chosen)
        problem.refit(usual * chosen)
        problem.fit = replace(problem.fit, of_speed=of_speed)


def _loaded(problem: Problem, joints: NDArray[np.bool_]) -> tuple[EquationMaker, Equations]:
    """Equations in which some joints (nv) carry the load of the fit."""
    maker, fit = problem.maker, problem.fit
    base = maker.base.combination @ fit.x[: fit.layout.inertial]
    other = replace(maker, load=joints[:, np.newaxis] * base)
    return other, problem.equations_of(other)


def joints_with_load(fit: Fit, equations: Equations, loads: Array) -> NDArray[np.bool_]:
    """(nv) whether joints have load-dependent friction, by cross-validation.

    A joint is selected if its load term reduces the error on the omitted folds to
    ``MIN_IMPROVEMENT`` or less, and its coefficient is positive by ``SIGNIFICANT`` standard
    deviations.

    Args:
        fit: fit without load-dependent friction.
        equations: the equations with the column of the load.
        loads: (nv) usual torques that the joints carry [Nm or N].
    """
    layout, blocks = fit.layout, len(equations.begins)
    folds = max(2, min(FOLDS, blocks // 2))
    fold, weights = np.arange(blocks) * folds // blocks, fit.weights / fit.sigma[:, np.newaxis] ** 2
    parts = [grams(equations, weights * (fold == k)) for k in range(folds)]
    others, load = [sum(parts) - part for part in parts], len(layout.base) + FRICTION.index('load')

    def tried(chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """(nv) errors on omitted folds, and load coefficients in standard deviations."""
        mask = np.ones((layout.joints, parts[0].shape[-1]))
        mask[:, load] = chosen
        errors, grows = np.zeros(layout.joints), []
        for part, rest in zip(parts, others, strict=True):
            x = solved(layout, rest * mask[:, np.newaxis] * mask[..., np.newaxis], fit.prior)
            errors += squares(layout, part, x)
            grows.append(x[layout.each('load')])
        # Standard deviation by the jackknife, because residuals are correlated in time.
        spread = np.sqrt(folds - 1.0) * np.std(grows, axis=0)
        return errors, np.mean(grows, axis=0) / np.maximum(spread, 1e-12)

    # Smaller loads contain no information about the coefficient.
    chosen = LOAD_REACH * loads > fit.sigma
    # Remove one joint at a time: joints share bodies, so the term of one may replace that of
    # another.
    while chosen.any():
        errors, grows = tried(chosen)
        worth = np.full(layout.joints, -np.inf)
        for j in np.flatnonzero(chosen):
            without, _ = tried(chosen & (np.arange(layout.joints) != j))
            worth[j] = errors[j] / max(without[j], 1e-300) if grows[j] > SIGNIFICANT else np.inf
        worst = int(np.argmax(worth))
        if worth[worst] <= MIN_IMPROVEMENT:
            break
        chosen[worst] = False
    return chosen
