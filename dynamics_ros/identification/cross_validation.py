# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Selection of the friction shape and the weight of the prior by cross-validation.

Folds are parts of the recording. A more complex friction shape or a smaller prior weight is
selected only if it reduces the error on omitted folds to ``MIN_IMPROVEMENT`` or less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .base_systems import BasePrior, BaseSystems
from .equations import Equations
from .equations.friction_shape import FRICTION_VELOCITIES, STRIBECK_VELOCITIES, FrictionShape
from .normal_equations import Layout, grams
from .prior import Prior

Array = NDArray[np.float64]
Choice = TypeVar('Choice')

WEIGHTS = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
"""Candidate weights of the prior, in descending order."""

MIN_IMPROVEMENT = 0.99
"""Ratio of errors that a more complex friction or a smaller prior weight has to reach."""

FOLDS = 5


def validated(
    layout: Layout,
    equations: Equations,
    prior: Prior,
    sigma: Array,
    weights: Array,
    before: tuple[FrictionShape, float] | None,
) -> tuple[FrictionShape, float]:
    """Friction shape and prior weight with the smallest error on omitted folds.

    Args:
        layout, equations, prior: the problem.
        sigma: (nv) standard deviations of rows [Nm or N].
        weights: (nv, blocks) weights of blocks.
        before: previous friction shape and weight, of which speeds and weight are kept; None:
            select both.
    """
    products = fold_grams(equations, sigma, weights)
    base_prior = BasePrior.of(layout, prior)

    def errors(shape: FrictionShape, tried: Sequence[float]) -> Array:
        """(weights, folds) errors on omitted folds."""
        parts = BaseSystems.of(layout, products, shape)
        others = replace(parts, grams=parts.grams.sum(axis=0) - parts.grams)
        unknowns = others.solved(base_prior, np.array(tried))
        return 0.5 * parts.squares(unknowns).sum(axis=-1)

    def error(shape: FrictionShape) -> float:
        return float(errors(shape, WEIGHTS[2:3]).sum())

    def steepest(faded: float | None) -> FrictionShape:
        shapes = [FrictionShape(velocity, faded) for velocity in FRICTION_VELOCITIES]
        return min(shapes, key=error)

    shape = replace(before[0], stribeck_velocity=None) if before else steepest(None)
    # The load term may replace the Stribeck term, but must not change its speed.
    faded = {before[0].stribeck_velocity} - {None} if before else STRIBECK_VELOCITIES
    shapes = [replace(shape, stribeck_velocity=v) for v in (None, *faded)]
    shape = _first_sufficient(shapes, [error(one) for one in shapes])
    if shape.stribeck_velocity is not None and not before:
        shape = steepest(shape.stribeck_velocity)
    return shape, before[1] if before else heaviest(errors(shape, WEIGHTS))


def fold_grams(equations: Equations, sigma: Array, weights: Array) -> Array:
    """(folds, nv, c, c) weighted Gram matrices of all columns."""
    blocks = len(equations.begins)
    folds = max(2, min(FOLDS, blocks // 2))
    number = np.arange(blocks) * folds // blocks
    scaled = weights / sigma[:, np.newaxis] ** 2
    return np.stack([grams(equations, scaled, number == fold) for fold in range(folds)])


def _first_sufficient(choices: Sequence[Choice], errors: Sequence[float]) -> Choice:
    """The first choice whose error is within ``MIN_IMPROVEMENT`` of the smallest one."""
    best = int(np.argmin(errors))
    for choice, error in zip(choices, errors, strict=True):
        if MIN_IMPROVEMENT * error <= errors[best]:
            return choice
    return choices[best]


def heaviest(errors: Array) -> float:
    """The largest weight of the prior that is not significantly worse than the best one.

    The error of a smaller weight has to be smaller by the factor ``MIN_IMPROVEMENT``, and by one
    standard error of the difference over the folds [Breiman1984].

    Args:
        errors: (weights, folds) errors on omitted folds.
    """
    best = errors[int(np.argmin(errors.sum(axis=1)))]
    for weight, own in zip(WEIGHTS, errors, strict=True):
        worse = own - best
        sure = np.sqrt(len(worse)) * float(np.std(worse, ddof=1))
        if MIN_IMPROVEMENT * own.sum() <= best.sum() or worse.sum() <= sure:
            return weight
    return WEIGHTS[-1]
