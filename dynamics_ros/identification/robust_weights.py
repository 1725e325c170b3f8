# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Weights of joints and one-second blocks: iteratively reweighted least squares.

Rows are weighted by the residual of their joint, and blocks of a joint with much larger residuals
than the others, such as during a push, are weighted less. A joint at rest is held by static
friction, which is unknown but constant for a while, and at most its dry friction in motion. All
rows of such a block together have the weight of one measurement with the variance of a uniform
distribution.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .base_systems import BasePrior, BaseSystems
from .equations import MIN_MOVING_ROWS, Equations
from .normal_equations import Layout
from .prior import PRIOR_WEIGHT, Prior

Array = NDArray[np.float64]

ROUNDS = 4

ROBUST_LIMIT = 2.5
"""Ratio of the residual of a block to that of its joint from which the weight decreases."""

UNEXPLAINED = 5.0
"""Ratio of the residual of a block to that of its joint from which the block is reported."""

MIN_BLOCK_ROWS = 4
"""Least number of rows for the mean square of a block: a single row is no push."""


def reweighted(
    layout: Layout,
    equations: Equations,
    prior: Prior,
    loads: Array,
    standing: NDArray[np.bool_],
    robust: bool = True,
) -> tuple[Array, Array, Array]:
    """Standard deviations of joints, weights of blocks, and normalised residuals of blocks.

    Args:
        layout, equations, prior: the equations, and the layout and prior of their unknowns.
        loads: (nv) usual torques that joints with load-dependent friction carry [Nm or N].
        standing: (nv, blocks) whether a joint is at rest, from ``standing_blocks``.
        robust: whether blocks with large residuals are weighted less.
    """
    counts, b = equations.counts, len(layout.base)
    efforts = (equations.rows[..., -1] ** 2).sum(axis=1) / counts.sum(axis=1)
    sigma, weights = (
        0.1 * np.sqrt(efforts) + 1e-9,
        np.where(standing, 1.0 / np.maximum(counts, 1), 1.0),
    )
    base_prior, rows = BasePrior.of(layout, prior), equations.rows
    for _ in range(ROUNDS):
        scaled = (weights / sigma[:, np.newaxis] ** 2)[:, equations.block, np.newaxis] * rows
        systems = BaseSystems(scaled.transpose(0, 2, 1) @ rows, b)
        unknowns = systems.solved(base_prior, np.array([PRIOR_WEIGHT]))[0]
        left = (rows @ unknowns[..., np.newaxis]).squeeze(-1)
        squares = np.stack(
            [np.bincount(equations.block, one**2, minlength=counts.shape[1]) for one in left]
        )
        spent = systems.freedom(base_prior, PRIOR_WEIGHT) / layout.joints
        in_motion = weights * ~standing
        kept = (in_motion * counts).sum(axis=1)
        freedom = np.maximum(kept - spent, 0.1 * kept)
        sigma = np.sqrt((in_motion * squares).sum(axis=1) / freedom)
        # Limit the weight of a joint without residual.
        sigma = np.maximum(sigma, 1e-3 * sigma.max() + 1e-12)
        friction = unknowns[:, b:-1] * (systems.grams.diagonal(0, 1, 2)[:, b:-1] > 0.0)
        holds = _dry_friction(friction, loads)[:, np.newaxis] * standing
        deviation = np.hypot(sigma[:, np.newaxis], holds)
        departures = np.sqrt(squares / np.maximum(counts, MIN_BLOCK_ROWS)) / deviation
        limit = ROBUST_LIMIT if robust else np.inf
        weights = np.minimum(1.0, (limit / np.maximum(departures, 1e-9)) ** 2)
        weights *= share_at_rest(holds / sigma[:, np.newaxis], counts)
    return sigma, weights, departures


def ridge(H: Array, g: Array, prior: Prior) -> Array:
    """Least-squares solution with the prior, with the quadratic expansion of its divergence."""
    total = prior.precision + PRIOR_WEIGHT * prior.divergence
    A = H + total
    scale = 1.0 / np.sqrt(np.diag(A))
    solved = np.linalg.solve(A * np.outer(scale, scale), (g + total @ prior.mean) * scale)
    found: Array = scale * solved
    return found


def standing_blocks(equations: Equations, moving: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(nv, blocks) whether a joint is at rest in a block and its dry friction is known from motion.

    Args:
        equations: the equations.
        moving: (nv) whether a joint moves in any of the recordings.
    """
    enough = equations.counts[:, ~equations.standing].sum(axis=1) >= MIN_MOVING_ROWS
    found: NDArray[np.bool_] = equations.standing & (moving & enough)[:, np.newaxis]
    return found


def dry_friction(layout: Layout, x: Array, loads: Array) -> Array:
    """(nv) largest static friction of each joint, for a vector of unknowns [Nm or N].

    Args:
        layout, x: the unknowns.
        loads: (nv) usual torques that joints with load-dependent friction carry [Nm or N].
    """
    return _dry_friction(layout.friction_of(x), loads)


def _dry_friction(friction: Array, loads: Array) -> Array:
    """(nv) largest static friction of joints with friction coefficients (nv, 5) [Nm or N]."""
    found: Array = np.maximum(np.maximum(friction[:, 2], friction[:, 3]), 0.0)
    return found + np.maximum(friction[:, 4], 0.0) * loads


def share_at_rest(holds: Array, counts: NDArray[np.int64]) -> Array:
    """Weight of a row of a block in which static friction is one unknown constant.

    Args:
        holds: largest static friction over the standard deviation of a row; 0 for moving joints.
        counts: number of rows of the block.
    """
    found: Array = 1.0 / (1.0 + counts * holds**2 / 3.0)
    return found
