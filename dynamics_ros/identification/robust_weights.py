# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How much each second of each joint counts: iteratively reweighted least squares.

Each joint counts by its residual, and a second of a joint that is explained much worse than the
others, such as a push, counts less. Joints that stand still are held by dry friction of any size up
to that in motion, the same for a while: all rows of a block then say as much as one number with the
deviation of an even distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .equations import LEAST, Equations, FrictionShape
from .normal_equations import Layout, Sums, grams, predictions
from .prior import Prior

Array = NDArray[np.float64]

ROUNDS = 4

ROBUST = 2.5
"""Residuals of a block, over those of its joint, from which on it counts less."""

UNEXPLAINED = 5.0
"""The same, from which on it is told of."""

FEW = 4
"""Rows that the residual of a block is the mean of at least: one row alone is no push."""


def reweighted(
    layout: Layout,
    equations: Equations,
    prior: Prior,
    shape: FrictionShape,
    weight: float,
    sigma: Array,
    weights: Array,
    standing: NDArray[np.bool_],
) -> tuple[Array, Array, Array]:
    """Deviation of each joint, weight of each block, and how far each block is off."""
    counts = equations.counts
    for _ in range(ROUNDS):
        H, g, _ = normal_system(layout, equations, sigma, weights, shape)
        x = ridge(H, g, prior, weight)
        left = equations.rows[..., -1] - predictions(layout, equations.rows, x, shape)
        squares = np.stack(
            [np.bincount(equations.block, one**2, minlength=counts.shape[1]) for one in left]
        )
        total = prior.precision + weight * prior.divergence
        spent = float(np.trace(np.linalg.solve(H + total, H))) / layout.joints
        told = weights * ~standing
        kept = (told * counts).sum(axis=1)
        freedom = np.maximum(kept - spent, 0.1 * kept)
        sigma = np.sqrt((told * squares).sum(axis=1) / freedom)
        # What is explained perfectly may not get all the weight.
        sigma = np.maximum(sigma, 1e-3 * sigma.max() + 1e-12)
        holds = dry_friction(layout, x, shape)[:, np.newaxis] * standing
        deviation = np.hypot(sigma[:, np.newaxis], holds)
        departures = np.sqrt(squares / np.maximum(counts, FEW)) / deviation
        weights = np.minimum(1.0, (ROBUST / np.maximum(departures, 1e-9)) ** 2)
        weights *= share_at_rest(holds / sigma[:, np.newaxis], counts)
    return sigma, weights, departures


def ridge(H: Array, g: Array, prior: Prior, weight: float) -> Array:
    """Least squares with the prior, its divergence replaced by the parabola that touches it."""
    total = prior.precision + weight * prior.divergence
    A = H + total
    scale = 1.0 / np.sqrt(np.diag(A))
    solved = np.linalg.solve(A * np.outer(scale, scale), (g + total @ prior.mean) * scale)
    found: Array = scale * solved
    return found


def normal_system(
    layout: Layout, equations: Equations, sigma: Array, weights: Array, shape: FrictionShape
) -> tuple[Array, Array, float]:
    """Normal equations H x = g of all rows by their weights, and the weighted efforts squared."""
    everything = np.ones(len(equations.begins), dtype=bool)
    gram = grams(equations, weights / sigma[:, np.newaxis] ** 2, everything)
    return Sums.of(layout, gram).assembled(shape)


def standing_blocks(equations: Equations, moving: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(nv, blocks) which hold joints by dry friction that is known from their motion.

    Args:
        equations: rows.
        moving: (nv) which joints move at all; of the others nothing is known of friction.
    """
    enough = equations.counts[:, ~equations.standing].sum(axis=1) >= LEAST
    found: NDArray[np.bool_] = equations.standing & (moving & enough)[:, np.newaxis]
    return found


def dry_friction(layout: Layout, x: Array, shape: FrictionShape) -> Array:
    """(nv) the largest that may hold a joint [Nm or N]."""
    _, _, dry, rest, of_load = layout.friction_of(x).T
    found: Array = np.maximum(np.maximum(dry, rest) if shape.stribeck_velocity else dry, 0.0)
    return found + np.maximum(of_load, 0.0) * shape.loads if shape.loads else found


def share_at_rest(holds: Array, counts: NDArray[np.int64]) -> Array:
    """How much a row counts of a block in which friction is the same unknown number.

    Args:
        holds: the largest friction, over the deviation of a row; 0 where joints move.
        counts: rows of the block.
    """
    found: Array = 1.0 / (1.0 + counts * holds**2 / 3.0)
    return found
