# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The robot that explains its recordings: robust weights, cross-validated prior, real bodies.

1. Iteratively reweighted least squares: each joint counts by its residual, and a second of a joint
   that is explained much worse than the others, such as a push, counts less. Joints that stand
   still are held by dry friction of any size up to that in motion, the same for a while: all rows
   of a block then say as much as one number with the deviation of an even distribution.
2. The shape of friction, and the weight of the prior towards the description, are those that
   explain parts of the recording best that were left out (cross-validation).
3. A semidefinite program gives parameters of real bodies (``consistency``).
4. Deviations are those of the noise in the band of the motion, which correlated residuals have more
   of than white ones of the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.robot import Robot

from . import consistency, pseudo_inertia
from .equations import (
    FRICTION_VELOCITIES,
    LEAST,
    SIMPLEST,
    STRIBECK_VELOCITIES,
    EquationMaker,
    Equations,
    FrictionShape,
)
from .normal_equations import FRICTION, Layout, Sums, grams, predictions

Array = NDArray[np.float64]
Choice = TypeVar('Choice')

WEIGHTS = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
"""Of the prior, that are tried; the heaviest first."""

WORTH = 0.99
"""A less simple friction, or a lighter prior, has to reduce the error to this part."""

FOLDS = 5
ROUNDS = 4
ROBUST = 2.5
"""Residuals of a block, over those of its joint, from which on it counts less."""

UNEXPLAINED = 5.0
"""The same, from which on it is told of."""

FEW = 4
"""Rows that the residual of a block is the mean of at least: one row alone is no push."""

FRICTION_REACH, OFFSET_REACH, SLOW = 2.0, 0.3, 0.1
"""Prior of friction and of offsets: deviation over the RMS of the effort; rad/s or m/s at which
viscous friction reaches it."""

SURE = 2.0
"""Deviations that what friction grows by with the load has to be above zero."""

LOAD_REACH = 0.3
"""Prior deviation of what friction grows by with the load; gears of robots have up to about 0.2."""

ROTOR_REACH = 0.1
"""Prior of a rotor inertia: of the largest inertia that a joint carries, where its own is less."""

HELD = 1e20
"""Weight of the divergence of bodies that are as described, over that of others."""

NEVER = 1e-6
"""Prior deviation of the friction of a joint that does not move, over the RMS of the effort."""


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known without a recording.

    Attributes:
        mean: (n) unknowns of the description.
        precision: (n, n) of friction; zero for what belongs to bodies and rotors.
        divergence: (n, n) second derivative of the divergence and of its like for rotors.
        bodies: (bodies, 10) of the description, made possible.
    """

    mean: Array
    precision: Array
    divergence: Array
    bodies: Array

    @classmethod
    def of(
        cls,
        robot: Robot,
        layout: Layout,
        sizes: Array,
        moving: NDArray[np.bool_],
        held: bool = False,
    ) -> Prior:
        """That of a description.

        Args:
            robot, layout: whose.
            sizes: (nv) of the efforts [Nm or N].
            moving: (nv) which joints move.
            held: whether bodies are exactly as described.
        """
        bodies = pseudo_inertia.described(robot)
        mean, n = np.zeros(layout.count), layout.count
        mean[: layout.bodies] = (pseudo_inertia.given(robot) if held else bodies).ravel()
        divergence, precision = np.zeros((n, n)), np.zeros((n, n))
        for body, block in enumerate(pseudo_inertia.metric(bodies)):
            own = slice(10 * body, 10 * body + 10)
            divergence[own, own] = HELD * block if held else block
        rng = np.random.default_rng(0)
        postures = np.array([robot.random_configuration(rng) for _ in range(20)])
        carried = robot.mass_matrix(postures).diagonal(axis1=1, axis2=2).mean(axis=0)
        rotors = np.arange(layout.bodies, layout.inertial)
        # A small motor behind a large gear has more than the hand that it turns.
        reach = np.maximum(carried, ROTOR_REACH * carried.max()) + 1e-9
        divergence[rotors, rotors] = 1.0 / reach**2
        declared = EffortModel.from_robot(robot)
        for joint in range(layout.joints):
            own = layout.friction(joint)
            dry = declared.coulomb[joint]
            mean[own] = (declared.viscous[joint], 0.0, dry, dry, 0.0)
            size = max(sizes[joint], 1e-6)
            reach = size * (FRICTION_REACH if moving[joint] else NEVER)
            of_load = LOAD_REACH if moving[joint] else NEVER
            deviations = np.array([reach / SLOW, OFFSET_REACH * size, reach, reach, of_load])
            precision[own, own] = np.diag(1.0 / deviations**2)
        return cls(mean, precision, divergence, bodies)


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
    standing = standing_blocks(equations, moving)
    shape, weight = before or (SIMPLEST, 10.0)
    weights = np.where(standing, 1.0 / np.maximum(equations.counts, 1), 1.0)
    sigma = 0.1 * sizes + 1e-9
    sigma, weights, departures = _reweighted(
        layout, equations, prior, shape, weight, sigma, weights, standing
    )
    shape, weight = _validated(layout, equations, prior, sigma, weights, before)
    sigma, weights, departures = _reweighted(
        layout, equations, prior, shape, weight, sigma, weights, standing
    )
    H, g, _ = _all(layout, equations, sigma, weights, shape)
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


def _all(
    layout: Layout, equations: Equations, sigma: Array, weights: Array, shape: FrictionShape
) -> tuple[Array, Array, float]:
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


def _ridge(H: Array, g: Array, prior: Prior, weight: float) -> Array:
    """Least squares with the prior, its divergence replaced by the parabola that touches it."""
    total = prior.precision + weight * prior.divergence
    A = H + total
    scale = 1.0 / np.sqrt(np.diag(A))
    solved = np.linalg.solve(A * np.outer(scale, scale), (g + total @ prior.mean) * scale)
    found: Array = scale * solved
    return found


def _reweighted(
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
        H, g, _ = _all(layout, equations, sigma, weights, shape)
        x = _ridge(H, g, prior, weight)
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


def joints_with_load(fit: Fit, equations: Equations, shape: FrictionShape) -> NDArray[np.bool_]:
    """(nv) whose friction grows with the load.

    Each of them explains parts of the recording that are left out better with such a term of its
    own than without, by what it is worth.

    Args:
        fit: without such friction.
        equations: the same, with the column of the load.
        shape: of friction, with the loads.
    """
    layout, T, b = fit.layout, shape.unknowns(), len(fit.layout.base)
    parts = _folds(equations, fit.sigma, fit.weights)

    def tried(chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Error of each joint; by how many deviations its friction grows with the load."""
        column = np.arange(parts[0].shape[-1]) == b + len(T) - 1
        off = ~chosen[:, np.newaxis, np.newaxis] & (column | column[:, np.newaxis])
        own = [np.where(off, 0.0, part) for part in parts]
        systems = [Sums.of(layout, part).assembled(shape)[:2] for part in own]
        whole_H, whole_g = (sum(system[k] for system in systems) for k in range(2))
        errors, grows = np.zeros(layout.joints), []
        for (left_H, left_g), gram in zip(systems, own, strict=True):
            x = _ridge(whole_H - left_H, whole_g - left_g, fit.prior, fit.prior_weight)
            inertial = layout.base.combination @ x[: layout.inertial]
            z = np.column_stack(
                [
                    np.tile(inertial, (layout.joints, 1)),
                    layout.friction_of(x) @ T.T,
                    -np.ones(layout.joints),
                ]
            )
            errors += np.einsum('jc,jcd,jd->j', z, gram, z)
            grows.append(layout.friction_of(x)[:, 4])
        # The jackknife's deviation: residuals hang together in time.
        spread = np.sqrt(len(grows) - 1.0) * np.std(grows, axis=0)
        return errors, np.mean(grows, axis=0) / np.maximum(spread, 1e-12)

    # Where the load is less, nothing is told of it.
    chosen = LOAD_REACH * np.array(shape.loads) > fit.sigma
    joints = np.arange(layout.joints)
    # Joints share bodies: the term of one may not stand for that of another.
    while chosen.any():
        errors, grows = tried(chosen)
        worth = np.full(layout.joints, -np.inf)
        for j in np.flatnonzero(chosen):
            without, _ = tried(chosen & (joints != j))
            worth[j] = errors[j] / max(without[j], 1e-300) if grows[j] > SURE else np.inf
        worst = int(np.argmax(worth))
        if worth[worst] <= WORTH:
            break
        chosen = chosen & (joints != worst)
    return chosen


def _folds(equations: Equations, sigma: Array, weights: Array) -> list[Array]:
    """(nv, c, c) weighted products of all columns, over each of the parts that are left out."""
    blocks = len(equations.begins)
    folds = max(2, min(FOLDS, blocks // 2))
    number = np.arange(blocks) * folds // blocks
    scaled = weights / sigma[:, np.newaxis] ** 2
    return [grams(equations, scaled, number == fold) for fold in range(folds)]


def _validated(
    layout: Layout,
    equations: Equations,
    prior: Prior,
    sigma: Array,
    weights: Array,
    before: tuple[FrictionShape, float] | None,
) -> tuple[FrictionShape, float]:
    """The friction shape and the weight of the prior that explain best what is left out."""
    parts = [Sums.of(layout, gram) for gram in _folds(equations, sigma, weights)]

    def error(shape: FrictionShape, tried: Sequence[float]) -> list[float]:
        found = np.zeros(len(tried))
        systems = [part.assembled(shape) for part in parts]
        whole_H, whole_g = (sum(system[k] for system in systems) for k in range(2))
        for left_H, left_g, rest in systems:
            for k, weight in enumerate(tried):
                x = _ridge(whole_H - left_H, whole_g - left_g, prior, weight)
                found[k] += 0.5 * x @ left_H @ x - left_g @ x + rest
        return list(found)

    def steepest(faded: float | None) -> FrictionShape:
        shapes = [FrictionShape(velocity, faded) for velocity in FRICTION_VELOCITIES]
        return min(shapes, key=lambda one: error(one, WEIGHTS[2:3])[0])

    shape = replace(before[0], stribeck_velocity=None) if before else steepest(None)
    # A term that the load replaces may go, but not become another one.
    faded = {before[0].stribeck_velocity} - {None} if before else STRIBECK_VELOCITIES
    shapes = [replace(shape, stribeck_velocity=v) for v in (None, *faded)]
    shape = _simplest(shapes, [error(one, WEIGHTS[2:3])[0] for one in shapes])
    if shape.stribeck_velocity is not None and not before:
        shape = steepest(shape.stribeck_velocity)
    return shape, before[1] if before else _simplest(WEIGHTS, error(shape, WEIGHTS))


def _simplest(choices: Sequence[Choice], errors: Sequence[float]) -> Choice:
    """The first, unless a later one is better by what it is worth; the best of those."""
    best = int(np.argmin(errors))
    for choice, error in zip(choices, errors, strict=True):
        if WORTH * error <= errors[best]:
            return choice
    return choices[best]
