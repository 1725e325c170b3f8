# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fit of a robot to its equations: weighted least squares with a prior from the description.

The unknowns are the ten parameters of each body, the rotor inertias, and five friction coefficients
of each joint: viscous, offset, Coulomb, dry friction at rest, and load coefficient. ``weighed``
finds them by iteratively reweighted least squares with a quadratic prior. ``regularized`` replaces
its solution by physically consistent parameters, from a semidefinite program (``pseudo_inertia``).

Rows are weighted by the residual of their joint, and blocks of a joint with much larger residuals
than the others, such as during a push, are weighted less. A joint at rest is held by static
friction, which is unknown but constant for a while, and at most its dry friction in motion. All
rows of such a block together have the weight of one measurement with the variance of a uniform
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.estimation import EffortModel
from dynamics_ros.robot import Robot

from .bodies import pseudo_inertia
from .bodies.base_parameters import BaseParameters
from .equations import MIN_MOVING_ROWS, EquationMaker, Equations

Array = NDArray[np.float64]

FRICTION = ('viscous', 'offset', 'coulomb', 'breakaway', 'load')

PRIOR_WEIGHT = 20.0
"""Weight of the divergence from the description. Residuals on other motion of three recorded arms
(geometric mean): 3.19 % with 10, 3.22 % with 20, 3.36 % with 30, above 4.7 % with 100."""

FRICTION_REACH, OFFSET_REACH, VISCOUS_SPEED = 2.0, 0.1, 0.1
"""Prior deviations of friction and of offsets, over the RMS effort; speed at which viscous friction
reaches the same deviation [rad/s]."""

STRIBECK_REACH = 0.2
"""Prior deviation of friction at rest from Coulomb friction, over the RMS effort."""

LOAD_REACH = 0.3
"""Prior deviation of the load coefficient of friction; gears of robots have up to about 0.2."""

ROTOR_REACH = 0.1
"""Least prior deviation of a rotor inertia, over the largest inertia that any joint carries."""

HELD_FACTOR = 1e20
"""Factor on the divergence weight of bodies that are fixed to the description."""

IMMOBILE_REACH = 1e-6
"""Prior deviation of the friction of a joint that does not move, over the RMS effort."""

ROUNDS = 4
"""Iterations of the weights."""

ROBUST_LIMIT = 2.5
"""Ratio of the residual of a block to that of its joint from which the weight decreases."""

UNEXPLAINED = 5.0
"""Ratio of the residual of a block to that of its joint from which the block is reported."""

MIN_BLOCK_ROWS = 4
"""Least number of rows for the mean square of a block: a single row is no push."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of the unknowns of a robot in one vector.

    Attributes:
        base: base parameters, as combinations of the parameters of bodies and rotors.
        joints: number of joints.
    """

    base: BaseParameters
    joints: int

    @property
    def inertial(self) -> int:
        """Number of parameters of bodies and rotors, which come first."""
        return int(self.base.combination.shape[1])

    @property
    def bodies(self) -> int:
        """Number of parameters of bodies."""
        return self.inertial - self.joints

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return self.inertial + len(FRICTION) * self.joints

    def friction(self, joint: int) -> slice:
        """Positions of the friction coefficients of a joint."""
        first = self.inertial + len(FRICTION) * joint
        return slice(first, first + len(FRICTION))

    def each(self, name: str) -> NDArray[np.int64]:
        """(joints) positions of a friction coefficient of all joints."""
        return self.inertial + FRICTION.index(name) + len(FRICTION) * np.arange(self.joints)

    def friction_of(self, x: Array) -> Array:
        """(joints, 5) friction coefficients of a vector of unknowns."""
        return x[self.inertial :].reshape(self.joints, len(FRICTION))

    def columns_of(self, x: Array) -> Array:
        """(joints, b + 5) factors of the columns of base parameters and friction."""
        base = np.tile(self.base.combination @ x[: self.inertial], (self.joints, 1))
        return np.hstack([base, self.friction_of(x)])


def grams(equations: Equations, weights: Array) -> Array:
    """(nv, c, c) Gram matrices of all columns and the effort, with weights (nv, blocks) of rows."""
    scaled = equations.rows * weights[:, equations.block, np.newaxis]
    found: Array = scaled.transpose(0, 2, 1) @ equations.rows
    return found


def normal_equations(layout: Layout, gram: Array) -> tuple[Array, Array]:
    """Information H (n, n) and right side g (n) of least squares with Gram matrices (nv, c, c)."""
    b, K = len(layout.base), layout.base.combination
    H, g = np.zeros((layout.count, layout.count)), np.zeros(layout.count)
    inertial = slice(0, layout.inertial)
    H[inertial, inertial] = K.T @ gram[:, :b, :b].sum(axis=0) @ K
    g[inertial] = K.T @ gram[:, :b, -1].sum(axis=0)
    for joint in range(layout.joints):
        own = layout.friction(joint)
        cross = K.T @ gram[joint, :b, b:-1]
        H[inertial, own], H[own, inertial] = cross, cross.T
        H[own, own], g[own] = gram[joint, b:-1, b:-1], gram[joint, b:-1, -1]
    return H, g


def squares(layout: Layout, gram: Array, x: Array) -> Array:
    """(nv) weighted squared residuals of unknowns x (n), from Gram matrices (nv, c, c)."""
    whole = np.hstack([layout.columns_of(x), np.full((layout.joints, 1), -1.0)])
    found: Array = np.einsum('jc,jcd,jd->j', whole, gram, whole)
    return found


def inverse(H: Array) -> Array:
    """Inverse of a positive definite matrix, scaled because its unknowns differ in size."""
    scale = 1.0 / np.sqrt(np.diag(H))
    found: Array = np.linalg.inv(H * np.outer(scale, scale)) * np.outer(scale, scale)
    return found


def posterior(H: Array, g: Array, precision: Array, mean: Array) -> tuple[Array, Array]:
    """Weighted least squares with a Gaussian prior: unknowns (n) and their covariance (n, n).

    For equations A x = y with independent rows of standard deviation s, pass H = A^T S^-2 A and
    g = A^T S^-2 y, summed over blocks of rows as they come. If residuals are correlated in time,
    divide both by ``payload_identification.correlation_factors``.

    Args:
        H, g: information (n, n) and right side (n) of the equations.
        precision: (n, n) inverse covariance of the prior; with that of H it must be positive
            definite. Units of the unknowns may differ in size.
        mean: (n) mean of the prior.
    """
    covariance = inverse(H + precision)
    x: Array = covariance @ (g + precision @ mean)
    return x, covariance


def solved(layout: Layout, gram: Array, prior: Prior) -> Array:
    """(n) unknowns with the least squared residuals and departure from the prior."""
    return posterior(*normal_equations(layout, gram), prior.information, prior.mean)[0]


@dataclass(frozen=True, eq=False)
class Prior:
    """Gaussian prior of friction, and quadratic expansion of the divergence of bodies and rotors.

    Attributes:
        mean: (n) unknowns according to the description.
        precision: (n, n) inverse covariance of friction; zero for bodies and rotors.
        divergence: (n, n) Hessian of the divergence of bodies, and of a quadratic prior of rotors.
        bodies: (bodies, 10) described inertial parameters, made physically consistent.
    """

    mean: Array
    precision: Array
    divergence: Array
    bodies: Array

    @computed_once
    def information(self) -> Array:
        """(n, n) inverse covariance with ``PRIOR_WEIGHT``."""
        return self.precision + PRIOR_WEIGHT * self.divergence

    @computed_once
    def covariance(self) -> Array:
        """(n, n) covariance with the weight 1 of the divergence."""
        return inverse(self.precision + self.divergence)

    @classmethod
    def of(
        cls,
        robot: Robot,
        layout: Layout,
        equations: Equations,
        moving: NDArray[np.bool_],
        held: bool = False,
    ) -> Prior:
        """Prior of a description.

        Args:
            robot, layout: the described robot, and the layout of its unknowns.
            equations: equations of its recordings.
            moving: (nv) whether joints move.
            held: whether bodies are fixed to the description.
        """
        bodies, rng = pseudo_inertia.described(robot), np.random.default_rng(0)
        postures = np.array([robot.random_configuration(rng) for _ in range(20)])
        carried = robot.mass_matrix(postures).diagonal(axis1=1, axis2=2).mean(axis=0)
        mean, n = np.zeros(layout.count), layout.count
        mean[: layout.bodies] = (pseudo_inertia.given(robot) if held else bodies).ravel()
        divergence = np.zeros((n, n))
        for body, block in enumerate(pseudo_inertia.metric(bodies)):
            own = slice(10 * body, 10 * body + 10)
            divergence[own, own] = HELD_FACTOR * block if held else block
        # The rotor of a small motor with a large gear ratio can exceed the inertia of the hand.
        reach = np.maximum(carried, ROTOR_REACH * carried.max()) + 1e-9
        of_rotors = np.arange(layout.bodies, layout.inertial)
        divergence[of_rotors, of_rotors] = 1.0 / reach**2
        declared, sizes = EffortModel.from_robot(robot), np.maximum(equations.rms_efforts, 1e-6)
        dry, nothing = declared.coulomb, np.zeros(layout.joints)
        friction = np.stack([declared.viscous, nothing, dry, dry, nothing], axis=1)
        mean[layout.inertial :] = friction.ravel()
        reach = sizes * np.where(moving, FRICTION_REACH, IMMOBILE_REACH)
        speed, of_load = (
            VISCOUS_SPEED * declared.motion,
            np.where(moving, LOAD_REACH, IMMOBILE_REACH),
        )
        deviations = np.stack([reach / speed, OFFSET_REACH * sizes, reach, reach, of_load], axis=1)
        precision = np.diag(np.concatenate([np.zeros(layout.inertial), deviations.ravel() ** -2.0]))
        # Friction at rest is about Coulomb friction, unless the motion shows another one.
        alike = (STRIBECK_REACH * sizes) ** -2.0
        rest, sliding = layout.each('breakaway'), layout.each('coulomb')
        for k, other in ((rest, sliding), (sliding, rest)):
            precision[k, k] += alike
            precision[k, other] -= alike
        return cls(mean, precision, divergence, bodies)


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

    @property
    def bodies(self) -> Array:
        """(bodies, 10) inertial parameters."""
        return self.x[: self.layout.bodies].reshape(-1, 10)

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

    @property
    def dry_friction(self) -> Array:
        """(nv) largest static friction [Nm or N]."""
        return dry_friction(self.friction, self.loads)


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
    counts, b = equations.counts, len(maker.base)
    prior = Prior.of(robot, layout, equations, moving, held)
    standing = standing_blocks(equations, moving)
    loads = np.zeros(robot.nv) if loads is None else loads
    sigma = 0.1 * equations.rms_efforts + 1e-9
    weights = np.where(standing, 1.0 / np.maximum(counts, 1), 1.0)
    for _ in range(ROUNDS):
        gram = grams(equations, weights / sigma[:, np.newaxis] ** 2)
        H, g = normal_equations(layout, gram)
        x, covariance = posterior(H, g, prior.information, prior.mean)
        columns = layout.columns_of(x)
        left = (equations.rows[..., :-1] @ columns[..., np.newaxis])[..., 0]
        left = left - equations.rows[..., -1]
        of_blocks = np.stack(
            [np.bincount(equations.block, one**2, minlength=counts.shape[1]) for one in left]
        )
        # The trace of the hat matrix is the number of unknowns that the equations determine.
        spent = float(np.einsum('ij,ji->', covariance, H)) / layout.joints
        in_motion = weights * ~standing
        rows = (in_motion * counts).sum(axis=1)
        sigma = np.sqrt((in_motion * of_blocks).sum(axis=1) / np.maximum(rows - spent, 0.1 * rows))
        # Limit the weight of a joint without residual.
        sigma = np.maximum(sigma, 1e-3 * sigma.max() + 1e-12)
        friction = columns[:, b:] * (gram.diagonal(0, 1, 2)[:, b:-1] > 0.0)
        holds = dry_friction(friction, loads)[:, np.newaxis] * standing
        deviation = np.hypot(sigma[:, np.newaxis], holds)
        departures = np.sqrt(of_blocks / np.maximum(counts, MIN_BLOCK_ROWS)) / deviation
        limit = ROBUST_LIMIT if robust else np.inf
        weights = np.minimum(1.0, (limit / np.maximum(departures, 1e-9)) ** 2)
        weights *= share_at_rest(holds / sigma[:, np.newaxis], counts)
    H, g = normal_equations(layout, grams(equations, weights / sigma[:, np.newaxis] ** 2))
    x, _ = posterior(H, g, prior.information, prior.mean)
    blocks = equations.begins, equations.standing
    return Fit(layout, loads, x, sigma, weights, departures, *blocks, H, g, prior, held)


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


def regularized(fit: Fit) -> Fit:
    """The fit with physically consistent parameters."""
    layout, prior, H = fit.layout, fit.prior, fit.information
    own = slice(layout.bodies, layout.inertial)
    total, pull = H + prior.precision, fit.pull + prior.precision @ prior.mean
    total[own, own] += PRIOR_WEIGHT * prior.divergence[own, own]
    positive = np.zeros(layout.count, dtype=bool)
    positive[layout.bodies :] = True
    positive[layout.each('offset')] = False
    known, free = prior.mean[: layout.bodies], slice(layout.bodies if fit.held else 0, None)
    if fit.held:
        pull = pull - total[:, : layout.bodies] @ known
    program = pseudo_inertia.Program(
        total[free, free],
        pull[free],
        prior.bodies[:0] if fit.held else prior.bodies,
        PRIOR_WEIGHT,
        positive[free],
    )
    return replace(fit, x=np.concatenate([known[: free.start], pseudo_inertia.solve(program)]))
