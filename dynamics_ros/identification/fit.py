# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fit of a robot to its equations: robust weights, physical consistency.

1. Joints and one-second blocks are weighted by their residuals (``robust_weights``).
2. A semidefinite program computes physically consistent parameters (``consistency``).
3. Standard deviations account for residuals that are correlated in time (``deviations``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bodies import consistency
from .effort_scale import rotors_told
from .equations import EquationMaker, Equations
from .normal_equations import FRICTION, Layout
from .prior import PRIOR_WEIGHT, Prior
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
        information: (n, n) matrix H of the data, without the prior.
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
        holds = dry_friction(self.layout, self.x, self.loads) / self.sigma
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


def fit_equations(
    maker: EquationMaker,
    equations: Equations,
    moving: NDArray[np.bool_],
    held: bool = False,
    loads: Array | None = None,
) -> Fit:
    """Fit physically consistent bodies, rotors and friction to equations.

    Args:
        maker: source of the equations.
        equations: equations of one or more recordings of the robot.
        moving: (nv) whether joints move.
        held: whether bodies are fixed to the description; then only friction and rotors are fitted.
        loads: (nv) usual torques that joints with load-dependent friction carry; None: no joint has
            such friction.
    """
    robot, layout = maker.robot, Layout(maker.base, maker.robot.nv)
    efforts = equations.rows[..., -1]
    sizes = np.sqrt((efforts**2).sum(axis=1) / equations.counts.sum(axis=1))
    prior = Prior.of(robot, layout, sizes, moving, held)
    rotors = rotors_told(layout, equations, prior.mean)
    prior = Prior.of(robot, layout, sizes, moving, held, rotors)
    standing = standing_blocks(equations, moving)
    loads = np.zeros(robot.nv) if loads is None else loads
    weights = np.where(standing, 1.0 / np.maximum(equations.counts, 1), 1.0)
    sigma = 0.1 * sizes + 1e-9
    sigma, weights, departures = reweighted(
        layout, equations, prior, loads, sigma, weights, standing
    )
    H, g, _ = normal_system(layout, equations, sigma, weights)
    mean = prior.precision @ prior.mean
    rotors = np.zeros_like(prior.divergence)
    own = slice(layout.bodies, layout.inertial)
    rotors[own, own] = PRIOR_WEIGHT * prior.divergence[own, own]
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
        PRIOR_WEIGHT,
        positive[free],
    )
    x = np.concatenate([known[: free.start], consistency.solve(program)])
    # Without a Stribeck term friction at rest is Coulomb friction.
    coulomb = layout.inertial + FRICTION.index('coulomb') + len(FRICTION) * np.arange(layout.joints)
    absent = coulomb[H[coulomb + 1, coulomb + 1] == 0.0]
    x[absent + 1] = x[absent]
    return Fit(
        *(layout, loads, x, sigma, weights, departures, equations.begins, equations.standing),
        *(H, prior, held, np.zeros(layout.count)),
    )
