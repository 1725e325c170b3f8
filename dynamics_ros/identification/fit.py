# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The robot that explains its recordings: robust weights, cross-validated prior, real bodies.

1. Each joint and each second counts by what is left of it (``robust_weights``).
2. The shape of friction, and the weight of the prior, are chosen by ``cross_validation``.
3. A semidefinite program gives parameters of real bodies (``consistency``).
4. Deviations are those of the noise in the band of the motion, which correlated residuals have more
   of than white ones of the same size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bodies import consistency
from .cross_validation import validated
from .effort_scale import rotors_told
from .equations import SIMPLEST, EquationMaker, Equations, FrictionShape
from .normal_equations import FRICTION, Layout
from .prior import Prior
from .robust_weights import (
    dry_friction,
    normal_system,
    reweighted,
    share_at_rest,
    standing_blocks,
)

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit:
    """Unknowns that explain a recording.

    Attributes:
        layout: where the unknowns stand.
        shape: of friction.
        x: (n) unknowns.
        sigma: (nv) what is left of a row of each joint [Nm or N].
        weights: (nv, blocks) how much each second counts, 1 at most.
        departures: (nv, blocks) residual of a block over that of its joint, at rest over the
            friction that may hold it; 0 where a joint has no part in the block.
        begins: (blocks) time at which each begins [s].
        standing: (blocks) which are of joints that stand still.
        prior_weight: of the divergence from the description.
        information: (n, n) H of the data, without the prior.
        prior: what was known.
        held: whether bodies were taken to be as described.
    """

    layout: Layout
    shape: FrictionShape
    x: Array
    sigma: Array
    weights: Array
    departures: Array
    begins: Array
    standing: NDArray[np.bool_]
    prior_weight: float
    information: Array
    prior: Prior
    held: bool

    @property
    def bodies(self) -> Array:
        """(bodies, 10) inertial parameters."""
        return self.x[: self.layout.bodies].reshape(-1, 10)

    def weights_of(self, equations: Equations, moving: NDArray[np.bool_]) -> Array:
        """(nv, blocks) how much rows of other equations count, by whether joints stand still."""
        standing = standing_blocks(equations, moving)
        holds = dry_friction(self.layout, self.x, self.shape) / self.sigma
        return share_at_rest(holds[:, np.newaxis] * standing, equations.counts)

    @property
    def rotors(self) -> Array:
        """(nv) rotor inertias [kg m^2 or kg]."""
        return self.x[self.layout.bodies : self.layout.inertial]

    @property
    def friction(self) -> Array:
        """(nv, 5) viscous, offset, Coulomb, at rest [Nm or N; per rad/s or m/s], per load."""
        return self.layout.friction_of(self.x)

    @property
    def load_friction(self) -> Array:
        """(nv) what dry friction grows by with the load; 0 where no such term was chosen."""
        found: Array = np.maximum(self.friction[:, 4], 0.0)
        return found * (np.array(self.shape.loads) > 0.0) if self.shape.loads else 0.0 * found


def fit_equations(
    maker: EquationMaker,
    equations: Equations,
    moving: NDArray[np.bool_],
    solver: str = 'auto',
    held: bool = False,
    before: tuple[FrictionShape, float] | None = None,
) -> Fit:
    """The parameters of real bodies, and friction, that explain equations best.

    Args:
        maker: of the equations.
        equations: of one or more recordings of the robot.
        moving: (nv) which joints move.
        solver: of the last step, as in ``consistency.solve``.
        held: whether bodies are as described; then only friction and rotors are looked for.
        before: shape of friction, whose speed and loads are kept, and weight of the prior; None:
            those that explain best what is left out.
    """
    robot, layout = maker.robot, Layout(maker.base, maker.robot.nv)
    efforts = equations.rows[..., -1]
    sizes = np.sqrt((efforts**2).sum(axis=1) / equations.counts.sum(axis=1))
    prior = Prior.of(robot, layout, sizes, moving, held)
    told = rotors_told(layout, equations, prior.mean)
    prior = Prior.of(robot, layout, sizes, moving, held, told)
    standing = standing_blocks(equations, moving)
    shape, weight = before or (SIMPLEST, 10.0)
    weights = np.where(standing, 1.0 / np.maximum(equations.counts, 1), 1.0)
    sigma = 0.1 * sizes + 1e-9
    sigma, weights, departures = reweighted(
        layout, equations, prior, shape, weight, sigma, weights, standing
    )
    shape, weight = validated(layout, equations, prior, sigma, weights, before)
    sigma, weights, departures = reweighted(
        layout, equations, prior, shape, weight, sigma, weights, standing
    )
    H, g, _ = normal_system(layout, equations, sigma, weights, shape)
    mean = prior.precision @ prior.mean
    rotors = np.zeros_like(prior.divergence)
    own = slice(layout.bodies, layout.inertial)
    rotors[own, own] = weight * prior.divergence[own, own]
    positive = np.zeros(layout.count, dtype=bool)
    positive[layout.bodies :] = True
    positive[layout.inertial + 1 :: len(FRICTION)] = False
    known, free = prior.mean[: layout.bodies], slice(layout.bodies if held else 0, None)
    total, pull = H + prior.precision + rotors, g + mean
    if held:
        pull = pull - total[:, : layout.bodies] @ known
    program = consistency.Program(
        total[free, free],
        pull[free],
        prior.bodies[:0] if held else prior.bodies,
        weight,
        positive[free],
    )
    x = np.concatenate([known[: free.start], consistency.solve(program, solver)])
    return Fit(
        *(layout, shape, x, sigma, weights, departures, equations.begins, equations.standing),
        *(weight, H, prior, held),
    )
