# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The shape of friction and the weight of the prior that explain best what was left out.

Both are tried on parts of the recording itself; what is less simple, or nearer to the data, has to
be better by what it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .equations import FRICTION_VELOCITIES, STRIBECK_VELOCITIES, Equations, FrictionShape
from .normal_equations import Layout, Sums, grams
from .prior import Prior
from .robust_weights import ridge

Array = NDArray[np.float64]
Choice = TypeVar('Choice')

WEIGHTS = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
"""Of the prior, that are tried; the heaviest first."""

WORTH = 0.99
"""A less simple friction, or a lighter prior, has to reduce the error to this part."""

FOLDS = 5


def validated(
    layout: Layout,
    equations: Equations,
    prior: Prior,
    sigma: Array,
    weights: Array,
    before: tuple[FrictionShape, float] | None,
) -> tuple[FrictionShape, float]:
    """The friction shape and the weight of the prior that explain best what is left out."""
    parts = [Sums.of(layout, gram) for gram in fold_products(equations, sigma, weights)]

    def error(shape: FrictionShape, tried: Sequence[float]) -> list[float]:
        found = np.zeros(len(tried))
        systems = [part.assembled(shape) for part in parts]
        whole_H, whole_g = (sum(system[k] for system in systems) for k in range(2))
        for left_H, left_g, rest in systems:
            for k, weight in enumerate(tried):
                x = ridge(whole_H - left_H, whole_g - left_g, prior, weight)
                found[k] += 0.5 * x @ left_H @ x - left_g @ x + rest
        return list(found)

    def steepest(faded: float | None) -> FrictionShape:
        shapes = [FrictionShape(velocity, faded) for velocity in FRICTION_VELOCITIES]
        return min(shapes, key=lambda one: error(one, WEIGHTS[2:3])[0])

    shape = replace(before[0], stribeck_velocity=None) if before else steepest(None)
    # A term that the load replaces may go, but not become another one.
    faded = {before[0].stribeck_velocity} - {None} if before else STRIBECK_VELOCITIES
    shapes = [replace(shape, stribeck_velocity=v) for v in (None, *faded)]
    shape = _simplest(shapes, [error(one, WEIGHTS[2:3])[0] for one in shapes])
    if shape.stribeck_velocity is not None and not before:
        shape = steepest(shape.stribeck_velocity)
    return shape, before[1] if before else _simplest(WEIGHTS, error(shape, WEIGHTS))


def fold_products(equations: Equations, sigma: Array, weights: Array) -> list[Array]:
    """(nv, c, c) weighted products of all columns, over each of the parts that are left out."""
    blocks = len(equations.begins)
    folds = max(2, min(FOLDS, blocks // 2))
    number = np.arange(blocks) * folds // blocks
    scaled = weights / sigma[:, np.newaxis] ** 2
    return [grams(equations, scaled, number == fold) for fold in range(folds)]


def _simplest(choices: Sequence[Choice], errors: Sequence[float]) -> Choice:
    """The first, unless a later one is better by what it is worth; the best of those."""
    best = int(np.argmin(errors))
    for choice, error in zip(choices, errors, strict=True):
        if WORTH * error <= errors[best]:
            return choice
    return choices[best]
