# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fit of a robot to its equations: robust weights, then physical consistency.

``weighed`` weights joints and one-second blocks by iteratively reweighted least squares with a
quadratic prior. ``regularized`` replaces its solution by physically consistent parameters, from a
semidefinite program (``consistency``).

Rows are weighted by the residual of their joint, and blocks of a joint with much larger residuals
than the others, such as during a push, are weighted less. A joint at rest is held by static
friction, which is unknown but constant for a while, and at most its dry friction in motion. All
rows of such a block together have the weight of one measurement with the variance of a uniform
distribution.

The prior of the parameters of bodies and rotors affects the residuals only through the prior of
their combinations, the base parameters. Least squares with a quadratic prior therefore has the
same residuals in base parameters, with fewer unknowns. The friction of a joint affects only its own
rows and is eliminated first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .bodies import consistency
from .effort_scale import rotors_told
from .equations import MIN_MOVING_ROWS, EquationMaker, Equations
from .normal_equations import FRICTION, Layout, normal_system
from .prior import PRIOR_WEIGHT, Prior

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
    sigma = 0.1 * equations.rms_efforts + 1e-9
    weights = np.where(standing, 1.0 / np.maximum(counts, 1), 1.0)
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
        holds = dry_friction(friction, loads)[:, np.newaxis] * standing
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


def dry_friction(friction: Array, loads: Array) -> Array:
    """(nv) largest static friction of joints with friction coefficients (nv, 5) [Nm or N].

    Args:
        friction: the coefficients.
        loads: (nv) usual torques that joints with load-dependent friction carry [Nm or N].
    """
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


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of a fit.

    Attributes:
        layout: positions of the unknowns.
        loads: (nv) usual torque of each joint with load-dependent friction, 0 for others [Nm or N].
        x: (n) unknowns.
        sigma: (nv) standard deviation of the residual of a row [Nm or N].
        weights: (nv, blocks) weights of the blocks, at most 1.
        departures: (nv, blocks) RMS residual of a block, over that of its joint, at rest over the
            largest static friction; 0 if a joint has no rows in the block.
        begins: (blocks) start times of the blocks [s].
        standing: (blocks) whether a block is of joints at rest.
        information, pull: (n, n) matrix H and (n) right side g of the data, without the prior.
        prior: the prior.
        held: whether bodies were fixed to the description.
        of_speed: (n) standard deviation of the unknowns due to that of the friction speed, with the
            signs of their correlation.
    """

    layout: Layout
    loads: Array
    x: Array
    sigma: Array
    weights: Array
    departures: Array
    begins: Array
    standing: NDArray[np.bool_]
    information: Array
    pull: Array
    prior: Prior
    held: bool
    of_speed: Array

    @property
    def bodies(self) -> Array:
        """(bodies, 10) inertial parameters."""
        return self.x[: self.layout.bodies].reshape(-1, 10)

    def weights_of(self, equations: Equations, moving: NDArray[np.bool_]) -> Array:
        """(nv, blocks) weights of rows of other equations: 1 in motion, less at rest."""
        standing = standing_blocks(equations, moving)
        holds = dry_friction(self.friction, self.loads) / self.sigma
        return share_at_rest(holds[:, np.newaxis] * standing, equations.counts)

    @property
    def rotors(self) -> Array:
        """(nv) rotor inertias [kg m^2 or kg]."""
        return self.x[self.layout.bodies : self.layout.inertial]

    @property
    def friction(self) -> Array:
        """(nv, 5) friction: viscous [Nms/rad], offset, Coulomb, at rest [Nm], load coefficient."""
        return self.layout.friction_of(self.x)

    @property
    def load_friction(self) -> Array:
        """(nv) coefficients of load-dependent friction; 0 for joints without this term."""
        found: Array = np.maximum(self.friction[:, 4], 0.0) * (self.loads > 0.0)
        return found


def weighed(
    maker: EquationMaker,
    equations: Equations,
    moving: NDArray[np.bool_],
    held: bool = False,
    loads: Array | None = None,
    robust: bool = True,
) -> Fit:
    """Weights of equations, and their least-squares solution with the prior.

    Args:
        maker: source of the equations.
        equations: equations of one or more recordings of the robot.
        moving: (nv) whether joints move.
        held: whether bodies are fixed to the description; then only friction and rotors are fitted.
        loads: (nv) usual torques that joints with load-dependent friction carry; None: no joint has
            such friction.
        robust: whether blocks with large residuals are weighted less.
    """
    robot, layout = maker.robot, Layout(maker.base, maker.robot.nv)
    sizes = equations.rms_efforts
    prior = Prior.of(robot, layout, sizes, moving, held)
    rotors = rotors_told(layout, equations, prior.mean)
    prior = Prior.of(robot, layout, sizes, moving, held, rotors)
    standing = standing_blocks(equations, moving)
    loads = np.zeros(robot.nv) if loads is None else loads
    sigma, weights, departures = reweighted(layout, equations, prior, loads, standing, robust)
    H, g, _ = normal_system(layout, equations, weights / sigma[:, np.newaxis] ** 2)
    return Fit(
        layout,
        loads,
        ridge(H, g, prior),
        *(sigma, weights, departures),
        equations.begins,
        equations.standing,
        *(H, g),
        prior,
        held,
        np.zeros(layout.count),
    )


def regularized(fit: Fit) -> Fit:
    """The fit with physically consistent parameters."""
    layout, prior, H = fit.layout, fit.prior, fit.information
    own = slice(layout.bodies, layout.inertial)
    total, pull = H + prior.precision, fit.pull + prior.precision @ prior.mean
    total[own, own] += PRIOR_WEIGHT * prior.divergence[own, own]
    positive = np.zeros(layout.count, dtype=bool)
    positive[layout.bodies :] = True
    positive[layout.inertial + 1 :: len(FRICTION)] = False
    known, free = prior.mean[: layout.bodies], slice(layout.bodies if fit.held else 0, None)
    if fit.held:
        pull = pull - total[:, : layout.bodies] @ known
    program = consistency.Program(
        total[free, free],
        pull[free],
        prior.bodies[:0] if fit.held else prior.bodies,
        PRIOR_WEIGHT,
        positive[free],
    )
    x = np.concatenate([known[: free.start], consistency.solve(program)])
    # Without a Stribeck term friction at rest is Coulomb friction.
    coulomb = layout.inertial + FRICTION.index('coulomb') + len(FRICTION) * np.arange(layout.joints)
    absent = coulomb[H[coulomb + 1, coulomb + 1] == 0.0]
    x[absent + 1] = x[absent]
    return replace(fit, x=x)
