# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Least squares with random effects whose variances are learned from the same equations.

For each joint j the equations are

    y_j = X_j x + Z_j z_j + e_j,    z_j ~ N(0, diag(1/lambda)),    e_j ~ N(0, sigma_j^2 r(level)),

with x common to all joints. The covariance of x counts what the effects z leave open of it. Effects
fall in groups with one variance each; these, and those of the noise, are the most likely ones when
x and z are integrated out [PattersonThompson1971], found by the fixed-point iteration of
[MacKay1992]. Effects that the equations do not ask for get no variance.

The noise of a row depends on its level, such as how fast the joint moves, and residuals that hang
together in time count as fewer rows.

The effects used here are friction of a joint beyond its modelled curve. Gears have ripple over the
position, dry friction that changes with it, and another curve over the speed than the model. Such a
torque is the same whenever the joint passes a position in a direction, so it does not average out
over time as noise does. It is written as

    sum_k (a_k + b_k tanh(v/v_f)) cos(2 pi k x) + (c_k + d_k tanh(v/v_f)) sin(2 pi k x)
        + sum_s (e_s tanh(v/v_f) + f_s |tanh(v/v_f)|) hat_s(log |v|),

with x the position over the range of the recordings. Coefficients of one octave of k, and those of
each curve over the speed, are normal with one variance: a Gaussian process by
its features [RasmussenWilliams2006].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HARMONICS = 20
"""Waves over the range of a joint, the shortest one."""

WIDER, MIN_RANGE = 1.25, 0.2
"""Longest wave over the range of the positions, so that both ends may differ; rad or m."""

SPEEDS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""rad/s or m/s between whose logarithms curves over the speed are straight."""


def groups() -> NDArray[np.int64]:
    """(m) number of the variance that the coefficient of each function has."""
    octave = np.floor(np.log2(np.arange(1, HARMONICS + 1))).astype(np.int64)
    count, speeds = octave[-1] + 1, np.zeros(len(SPEEDS), dtype=np.int64)
    both = [octave, octave, count + octave, count + octave]
    return np.concatenate([*both, 2 * count + speeds, 2 * count + 1 + speeds])


@dataclass(frozen=True, eq=False)
class UnmodelledFriction:
    """The functions of position and velocity whose sum is a joint's friction beyond the model.

    Attributes:
        lowest, highest: (nv) positions in the recordings [rad or m].
        velocity: v_f, at which dry friction has reached 76 % [rad/s or m/s].
    """

    lowest: Array
    highest: Array
    velocity: float

    def __call__(self, q: Array, v: Array) -> Array:
        """(..., m + 1) the functions at positions and velocities (..., nv); tanh(v/v_f) is last."""
        longest = WIDER * np.maximum(self.highest - self.lowest, MIN_RANGE)
        x = (q - 0.5 * (self.lowest + self.highest)) / longest
        angle = 2.0 * np.pi * x[..., np.newaxis] * np.arange(1, HARMONICS + 1)
        waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)
        direction = np.tanh(v / self.velocity)[..., np.newaxis]
        knots = np.log(SPEEDS)
        at = np.clip(np.log(np.maximum(np.abs(v), 1e-9)), knots[0], knots[-1])
        hats = np.stack([np.interp(at, knots, one) for one in np.eye(len(knots))], axis=-1)
        curves = [direction * hats, np.abs(direction) * hats]
        return np.concatenate([waves, direction * waves, *curves, direction], axis=-1)


ROUNDS = 12
"""Iterations of the variances."""

SETTLED = 4
"""Rounds after which residuals hang together no more by effects that are not learned yet."""

FIRST_GUESS = 0.05
"""Deviation of effects that the iteration begins with, over the RMS of the right side."""

USUAL_ROWS = 30.0
"""Rows of usual noise that the logarithm of a level's is averaged with: few rows tell little."""

MIN_FREEDOM = 0.1
"""Of the rows, which are counted at least when noise is computed from residuals."""

NONE_LEFT = 1e-3
"""Number of coefficients that a group has at least: variances shrink, but do not become zero."""


@dataclass(frozen=True, eq=False)
class MixedEquations:
    """Equations of all joints with fixed and random effects.

    Attributes:
        fixed: (nv, n, N) columns of the unknowns that joints share.
        random: (nv, n, m) columns of each joint's own random effects.
        right: (nv, n) right sides.
        level: (nv, n) number of the noise level of each row; -1 for rows of known deviation, which
            are divided by it over sigma already, and tell nothing of the noise.
        groups: (m) number of the variance of each random effect.
        precision, pull: (N, N), (N) of what is known of the shared unknowns without the equations.
    """

    fixed: Array
    random: Array
    right: Array
    level: NDArray[np.int64]
    groups: NDArray[np.int64]
    precision: Array
    pull: Array

    def with_effect(self, column: Array) -> MixedEquations:
        """With one more random effect (nv, n), of a variance of its own."""
        random = np.concatenate([self.random, column[..., np.newaxis]], axis=-1)
        return replace(self, random=random, groups=np.append(self.groups, self.groups.max() + 1))


def estimated(
    equations: MixedEquations, sigma: Array, memory: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """The shared unknowns and their covariance.

    Args:
        equations: whose unknowns they are.
        sigma: (nv) noise that the iteration begins with.
        memory: (nv) by how much the variance of a mean of residuals (nv, n) is larger than if they
            were independent; they are 0 in rows that tell nothing of the noise.

    Returns:
        (N), (N, N).
    """
    X, Z, y = equations.fixed, equations.random, equations.right
    N, with_level = X.shape[-1], equations.level >= 0
    levels = int(equations.level.max(initial=0)) + 1
    one_hot = equations.level[..., np.newaxis] == np.arange(-1, levels)
    counts, groups = one_hot[..., 1:].sum(axis=1), np.eye(equations.groups.max() + 1)
    member = groups[equations.groups]
    products = _products(np.concatenate([X, Z, y[..., np.newaxis]], axis=-1), one_hot)
    size = np.sqrt((y**2).mean(axis=1)) + 1e-12
    precision = np.tile((FIRST_GUESS * size[:, np.newaxis]) ** -2.0, (1, groups.shape[0]))
    variance, factors, relative = sigma**2, np.ones(len(y)), np.ones((len(y), levels + 1))
    for number in range(ROUNDS + 1):
        weights = 1.0 / ((variance * factors)[:, np.newaxis] * relative)
        G = np.einsum('jl,jlcd->jcd', weights, products)
        # Each joint's effects are eliminated: what is left are equations of the shared unknowns.
        inner = G[:, N:-1, N:-1] + np.einsum(
            'jg,mg,mk->jmk', precision, member, np.eye(len(member))
        )
        open_ = np.linalg.inv(inner)
        follow = open_ @ G[:, N:-1, :N]
        reduced = G[:, :N, :N] - G[:, :N, N:-1] @ follow
        pull = G[:, :N, -1] - (follow.transpose(0, 2, 1) @ G[:, N:-1, -1:])[..., 0]
        H = equations.precision + reduced.sum(axis=0)
        scale = 1.0 / np.sqrt(np.diag(H))
        covariance = np.linalg.inv(H * np.outer(scale, scale)) * np.outer(scale, scale)
        x = covariance @ (equations.pull + pull.sum(axis=0))
        if number == ROUNDS:
            break
        z = (open_ @ (G[:, N:-1, -1:] - G[:, N:-1, :N] @ x[:, np.newaxis]))[..., 0]
        moved = follow @ covariance
        spread = open_ + moved @ follow.transpose(0, 2, 1)
        # Coefficients that the equations tell, of each group; numbers that they tell in all.
        diagonal = np.diagonal(spread, axis1=1, axis2=2)
        known = np.maximum(member.sum(axis=0) - precision * (diagonal @ member), NONE_LEFT)
        spent = (
            np.einsum('jab,ba->j', G[:, :N, :N], covariance)
            - 2.0 * np.einsum('jmb,jmb->j', G[:, N:-1, :N], moved)
            + np.einsum('jmk,jkm->j', G[:, N:-1, N:-1], spread)
        )
        smallest = 1e-14 * len(y[0]) * size[:, np.newaxis] ** 2
        precision = known / np.maximum(z**2 @ member, smallest * known)
        residual = with_level * (y - X @ x - (Z @ z[..., np.newaxis])[..., 0])
        rows = np.maximum(counts.sum(axis=1), 1)
        freedom = np.clip(1.0 - spent / rows, MIN_FREEDOM, 1.0)
        squares = np.einsum('jnl,jn->jl', one_hot[..., 1:], residual**2)
        if number >= SETTLED // 2:
            usual = (squares.sum(axis=1) / rows)[:, np.newaxis]
            own = (squares + 1e-300) / (np.maximum(counts, 1) * usual + 1e-300)
            relative[:, 1:] = own ** (counts / (counts + USUAL_ROWS))
        variance = (squares / relative[:, 1:]).sum(axis=1) / rows / freedom
        # What is explained perfectly may not get all the weight.
        variance = np.maximum(variance, 1e-6 * variance.max() + 1e-24)
        if number >= SETTLED:
            every = np.take_along_axis(relative, equations.level + 1, axis=1)
            factors = memory(residual / np.sqrt(every))
    return x, covariance


def _products(rows: Array, one_hot: NDArray[np.bool_]) -> Array:
    """(nv, levels, c, c) of the columns of all rows (nv, n, c), by level."""
    found = np.zeros((len(rows), one_hot.shape[-1], rows.shape[-1], rows.shape[-1]))
    for joint, level in np.ndindex(found.shape[:2]):
        own = rows[joint, one_hot[joint, :, level]]
        found[joint, level] = own.T @ own
    return found
