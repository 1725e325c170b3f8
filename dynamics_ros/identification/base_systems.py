# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Least squares in base parameters and friction, for many systems at once.

The prior of the parameters of bodies and rotors affects the residuals only through the prior of
their combinations, the base parameters. Least squares with a quadratic prior therefore has the
same residuals in base parameters, with fewer unknowns. The friction of a joint affects only its own
rows and is eliminated first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .normal_equations import Layout
from .prior import Prior

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BasePrior:
    """Gaussian prior of base parameters and friction.

    Attributes:
        mean: (b) base parameters of the description, in units of their deviations.
        deviations: (b) deviations of the base parameters for the weight 1.
        correlation: (b, b) correlation of the base parameters.
        friction: (nv, 5) friction of the description.
        precision: (nv, 5) inverse variances of friction.
    """

    mean: Array
    deviations: Array
    correlation: Array
    friction: Array
    precision: Array

    @classmethod
    def of(cls, layout: Layout, prior: Prior) -> BasePrior:
        """Prior of the base parameters, from that of all unknowns."""
        inertial, K = slice(0, layout.inertial), layout.base.combination
        covariance = K @ prior.open_inertial @ K.T
        deviations = np.sqrt(np.diag(covariance))
        return cls(
            K @ prior.mean[inertial] / deviations,
            deviations,
            covariance / np.outer(deviations, deviations),
            layout.friction_of(prior.mean),
            layout.friction_of(np.diag(prior.precision)),
        )


@dataclass(frozen=True, eq=False)
class BaseSystems:
    """Gram matrices of base parameters, friction coefficients and efforts, for each joint.

    Attributes:
        grams: (..., nv, d, d) matrices with d = b + m + 1, for m friction coefficients, from
            ``normal_equations.grams``.
        base: number b of base parameters.
    """

    grams: Array
    base: int

    def solved(self, prior: BasePrior, weights: Array) -> Array:
        """(w, ..., nv, d) best unknowns of each joint's rows, and -1, for w weights of the prior.

        Args:
            prior: the prior.
            weights: (w) weights of the divergence from the description.
        """
        b, grams = self.base, self.grams
        count = grams.shape[-1] - b - 1
        own = np.arange(count)
        D = grams[..., b:-1, b:-1].copy()
        precision = prior.precision[:, :count]
        D[..., own, own] += precision
        right = grams[..., b:-1, -1] + precision * prior.friction[:, :count]
        eliminated = np.linalg.solve(
            D, np.concatenate([grams[..., b:-1, :b], right[..., np.newaxis]], axis=-1)
        )
        turned, alone = eliminated[..., :b], eliminated[..., b]
        cross = grams[..., :b, b:-1]
        size = prior.deviations
        S = (grams[..., :b, :b] - cross @ turned).sum(axis=-3) * np.outer(size, size)
        pull = (grams[..., :b, -1] - (cross @ alone[..., np.newaxis])[..., 0]).sum(axis=-2) * size
        # With the correlation instead of its inverse, which does not exist for fixed bodies.
        by_weight = weights.reshape(-1, *(1,) * (S.ndim - 1))
        base = size * np.linalg.solve(
            np.eye(b) + prior.correlation @ S / by_weight[..., np.newaxis],
            (prior.mean + pull @ prior.correlation / by_weight)[..., np.newaxis],
        ).squeeze(-1)
        friction = alone - (turned @ base[..., np.newaxis, :, np.newaxis]).squeeze(-1)
        found = np.empty((*friction.shape[:-1], grams.shape[-1]))
        found[..., :b], found[..., b:-1] = base[..., np.newaxis, :], friction
        found[..., -1] = -1.0
        return found

    def freedom(self, prior: BasePrior, weight: float) -> float:
        """Number of unknowns that one system determines: the trace of its hat matrix.

        Args:
            prior: the prior.
            weight: weight of the divergence from the description.
        """
        b, grams = self.base, self.grams
        nv, count = grams.shape[0], grams.shape[-1] - self.base - 1
        # Prior deviations of all unknowns: base parameters, then the friction of each joint.
        size = np.concatenate(
            [prior.deviations / np.sqrt(weight), (prior.precision[:, :count] ** -0.5).ravel()]
        )
        H, C = np.zeros((len(size), len(size))), np.eye(len(size))
        C[:b, :b] = prior.correlation
        H[:b, :b] = grams[:, :b, :b].sum(axis=0)
        for joint in range(nv):
            own = slice(b + joint * count, b + (joint + 1) * count)
            H[:b, own], H[own, own] = grams[joint, :b, b:-1], grams[joint, b:-1, b:-1]
            H[own, :b] = H[:b, own].T
        H *= np.outer(size, size)
        return len(size) - float(np.trace(np.linalg.inv(np.eye(len(size)) + C @ H)))

    def squares(self, unknowns: Array) -> Array:
        """(..., nv) squared residuals of the rows of each joint, for unknowns (..., nv, d)."""
        left = (self.grams @ unknowns[..., np.newaxis]).squeeze(-1)
        found: Array = np.einsum('...d,...d->...', left, unknowns)
        return found
