# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fit of a robot to its equations: robust weights, then physical consistency.

``weighed`` weights joints and one-second blocks by their residuals (``robust_weights``) and solves
least squares with a quadratic prior. ``regularized`` replaces its solution by physically consistent
parameters, from a semidefinite program (``consistency``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .bodies import consistency
from .effort_scale import rotors_told
from .equations import EquationMaker, Equations
from .normal_equations import FRICTION, Layout, normal_system
from .prior import PRIOR_WEIGHT, Prior
from .robust_weights import (
    dry_friction,
    reweighted,
    ridge,
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
    sizes = np.sqrt((equations.rows[..., -1] ** 2).sum(axis=1) / equations.counts.sum(axis=1))
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
