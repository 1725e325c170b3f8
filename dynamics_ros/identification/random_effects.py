# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Least squares with random effects whose variances are learned from the same equations.

For each joint j the equations are

    y_j = X_j x + Z_j z_j + e_j,    z_j ~ N(0, diag(1/lambda)),    e_j ~ N(0, sigma_j^2 r(level)),

with x common to all joints. The covariance of x counts what the effects z leave open of it. Effects
fall in groups with one variance each; these, and those of the noise, are the most likely ones when
x and z are integrated out [PattersonThompson1971], found by the fixed-point iteration of
[MacKay1992]. Effects that the equations do not ask for get no variance. The noise of a row depends
on its level, such as how fast the joint moves, and residuals that are correlated in time count as
fewer rows.

The effects used here are friction of a joint beyond its modelled curve. Gears have ripple over the
position, and dry friction that changes with it. Such a torque is the same whenever the joint passes
a position in a direction, so it does not average out over time as noise does. It is written as

    sum_k (a_k + b_k tanh(v/v_f)) cos(2 pi k x) + (c_k + d_k tanh(v/v_f)) sin(2 pi k x),

with x the position over the range of the recordings. Coefficients of one octave of k are normal
with one variance: a Gaussian process by its features [RasmussenWilliams2006].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .deviations import factors_of
from .fit import inverse

Array = NDArray[np.float64]

HARMONICS = 20
"""Waves over the range of a joint, the shortest one."""

WIDER, MIN_RANGE = 1.25, 0.2
"""Longest wave over the range of the positions, so that both ends may differ; rad or m."""

_OCTAVE = np.floor(np.log2(np.arange(1, HARMONICS + 1))).astype(np.int64)
_COUNT = int(_OCTAVE[-1]) + 1
GROUPS = np.concatenate([_OCTAVE, _OCTAVE, _COUNT + _OCTAVE, _COUNT + _OCTAVE])
"""(m) number of the variance of the coefficient of each function of ``UnmodelledFriction``."""

ROUNDS, SETTLED = 12, 4
"""Iterations of the variances; those after which residuals are correlated no more by effects that
are not learned yet."""

FIRST_GUESS = 0.05
"""Deviation of effects that the iteration begins with, over the RMS of the right side."""

USUAL_ROWS = 30.0
"""Rows of usual noise that the logarithm of a level's is averaged with: few rows tell little."""

MIN_FREEDOM = 0.1
"""Of the rows, which are counted at least when noise is computed from residuals."""

NONE_LEFT = 1e-3
"""Number of coefficients that a group has at least: variances shrink, but do not become zero."""


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
        return np.concatenate([waves, direction * waves, direction], axis=-1)


@dataclass(frozen=True, eq=False)
class MixedEquations:
    """Equations of all joints with fixed and random effects.

    Attributes:
        fixed: (nv, n, N) columns of the unknowns that joints share.
        random: (nv, n, m) columns of each joint's own random effects.
        right: (nv, n) right sides.
        level: (nv, n) number of the noise level of each row, from 1; 0 for rows of known deviation,
            which are divided by it over sigma already, and tell nothing of the noise.
        groups: (m) number of the variance of each random effect.
        precision, pull: (N, N), (N) of what is known of the shared unknowns without the equations.
        period: time between rows [s].
    """

    fixed: Array
    random: Array
    right: Array
    level: NDArray[np.int64]
    groups: NDArray[np.int64]
    precision: Array
    pull: Array
    period: float


def estimated(equations: MixedEquations, sigma: Array) -> tuple[Array, Array]:
    """The shared unknowns (N) and their covariance (N, N).

    Args:
        equations: whose unknowns they are.
        sigma: (nv) noise that the iteration begins with.
    """
    X, Z, y = equations.fixed, equations.random, equations.right
    N, member = X.shape[-1], np.eye(equations.groups.max() + 1)[equations.groups]
    whole = np.concatenate([X, Z, y[..., np.newaxis]], axis=-1)
    masks = [equations.level == k for k in range(max(int(equations.level.max()), 1) + 1)]
    products = np.stack([(whole * m[..., np.newaxis]).swapaxes(1, 2) @ whole for m in masks])
    counts, noisy = np.sum(masks, axis=2).T[:, 1:], ~masks[0]
    rows, size = np.maximum(counts.sum(axis=1), 1), np.sqrt((y**2).mean(axis=1)) + 1e-12
    precision = np.tile((FIRST_GUESS * size[:, np.newaxis]) ** -2.0, (1, member.shape[1]))
    variance, factors, relative = sigma**2, np.ones(len(y)), np.ones((len(y), len(masks)))
    for number in range(ROUNDS + 1):
        weights = 1.0 / ((variance * factors)[:, np.newaxis] * relative)
        G = np.einsum('jl,ljcd->jcd', weights, products)
        # Each joint's effects are eliminated: what is left are equations of the shared unknowns.
        prior = (precision @ member.T)[:, np.newaxis] * np.eye(len(member))
        effects = np.linalg.inv(G[:, N:-1, N:-1] + prior)
        follow = effects @ G[:, N:-1, :N]
        H = G[:, :N, :N] - G[:, :N, N:-1] @ follow
        pull = G[:, :N, -1] - (follow.swapaxes(1, 2) @ G[:, N:-1, -1:])[..., 0]
        covariance = inverse(equations.precision + H.sum(axis=0))
        x = covariance @ (equations.pull + pull.sum(axis=0))
        if number == ROUNDS:
            break
        z = (effects @ (G[:, N:-1, -1:] - G[:, N:-1, :N] @ x[:, np.newaxis]))[..., 0]
        moved = follow @ covariance
        spread = effects + moved @ follow.swapaxes(1, 2)
        # Coefficients that the equations tell, of each group; numbers that they tell in all.
        diagonal = np.diagonal(spread, axis1=1, axis2=2)
        told = np.maximum(member.sum(axis=0) - precision * (diagonal @ member), NONE_LEFT)
        spent = (
            np.einsum('jab,ba->j', G[:, :N, :N], covariance)
            - 2.0 * np.einsum('jmb,jmb->j', G[:, N:-1, :N], moved)
            + np.einsum('jmk,jkm->j', G[:, N:-1, N:-1], spread)
        )
        smallest = 1e-14 * len(y[0]) * size[:, np.newaxis] ** 2
        precision = told / np.maximum(z**2 @ member, smallest * told)
        residual = noisy * (y - X @ x - (Z @ z[..., np.newaxis])[..., 0])
        freedom = np.clip(1.0 - spent / rows, MIN_FREEDOM, 1.0)
        squares = np.stack([(residual**2 * m).sum(axis=1) for m in masks[1:]], axis=1)
        if number >= SETTLED // 2:
            usual = (squares.sum(axis=1) / rows)[:, np.newaxis]
            own = (squares + 1e-300) / (np.maximum(counts, 1) * usual + 1e-300)
            relative[:, 1:] = own ** (counts / (counts + USUAL_ROWS))
        variance = (squares / relative[:, 1:]).sum(axis=1) / rows / freedom
        # What is explained perfectly may not get all the weight.
        variance = np.maximum(variance, 1e-6 * variance.max() + 1e-24)
        if number >= SETTLED:
            every = np.take_along_axis(relative, equations.level, axis=1)
            factors = factors_of((residual / np.sqrt(every)).T, noisy.T, equations.period)
    return x, covariance
