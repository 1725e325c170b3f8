# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Misfit of a described robot to a motion, with a penalty on changes of its masses.

A model with free masses explains much of a wrongly read recording, with bodies far from the
described ones. A model with described masses does not fit exactly even if the recording is read
correctly. The misfit therefore combines the residual of the efforts and the divergence of bodies
from the described ones ([Lee2020]):

    misfit^2 = min over phi, friction of  mean |W (Y phi + friction - efforts)|^2
               + price (phi - phi_0)^T D (phi - phi_0),

where W divides efforts by the standard deviation of those of their joint. Rotors and friction have
wide priors, and efforts may have the opposite sign at any joint, and another unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.identification.bodies import pseudo_inertia
from dynamics_ros.robot import Robot

from .nearest import SIGNIFICANT, nearest_signs, regressions_of_sums
from .states import COULOMB, EFFORT, OFFSET, ROTOR, VISCOUS, States, Sums

Array = NDArray[np.float64]

PRICE = 1e-3
"""Price of one unit of divergence, divided by the number of joints. If all masses are wrong by a
third, the misfit is 2 % of the variation of efforts."""

TOOL_FACTOR = 1e-4
"""Factor on the price of the last bodies, which may carry a tool that is in no description."""

HELD_FACTOR = 1e4
"""Factor on the divergence if masses are known to be as described."""

FRICTION_REACH, SLOW_REACH = 2.0, 0.1
"""Prior deviation of friction and offsets over the standard deviation of efforts; speed at which
viscous friction reaches it [rad/s or m/s]."""

ROTOR_REACH = 0.1
"""Least prior deviation of a rotor inertia, over the largest inertia that any joint carries."""

MAX_ENTRIES = 4_000_000
"""Largest number of entries of the regressors of readings that are explained at once."""

MIN_CARRIED_SHARE, MAX_UNIT_RATIO = 0.3, 3.0
"""Least share of its efforts that bodies explain for a joint to determine the unit; ratio of
efforts to torques, or its inverse, that is still plausible."""


@dataclass(frozen=True, eq=False)
class Explained:
    """Best explanation of states.

    Attributes:
        misfit: residual over the variation of efforts; 0.1 is good for a robot with gears.
        bodies: (10 bodies) inertial parameters.
        more: (m) coefficients of the additional columns.
        gains: (nv) reported effort over torque of described bodies; NaN if not determined.
        usual_gain: weighted median of the gains; 1 if not determined.
        signs: (nv) signs of the efforts.
        unit: reported units per Nm or N; not 1 if this explains more.
    """

    misfit: float
    bodies: Array
    more: Array
    gains: Array
    usual_gain: float
    signs: Array
    unit: float


@dataclass(frozen=True, eq=False)
class Misfit:
    """Misfit of one described robot.

    Attributes:
        robot: described robot.
        held: whether masses are known to be as described.
    """

    robot: Robot
    held: bool = False

    @computed_once
    def bodies(self) -> Array:
        """(bodies, 10) parameters of the description, made physically consistent."""
        return pseudo_inertia.described(self.robot)

    @computed_once
    def divergence(self) -> Array:
        """(10 bodies, 10 bodies) Hessian of the divergence from the description.

        Last bodies have a lower price, because they may carry a tool.
        """
        n, inner = self.bodies.size, {joint.parent for joint in self.robot.model.joints}
        found = np.zeros((n, n))
        for body, block in enumerate(pseudo_inertia.metric(self.bodies)):
            own = slice(10 * body, 10 * body + 10)
            found[own, own] = block if body in inner else TOOL_FACTOR * block
        return HELD_FACTOR * found if self.held else found

    @computed_once
    def carried(self) -> Array:
        """(nv) inertia that each joint carries, with a lower bound [kg m^2 or kg]."""
        rng = np.random.default_rng(0)
        postures = np.array([self.robot.random_configuration(rng) for _ in range(20)])
        own: Array = self.robot.mass_matrix(postures).diagonal(axis1=1, axis2=2).mean(axis=0)
        return np.maximum(own, ROTOR_REACH * own.max()) + 1e-9

    def regressor(self, states: States) -> Array:
        """(n, nv, 10 bodies) regressor with the described gravity."""
        return np.asarray(self.robot.regressor(states.q, states.v, states.a))

    def of_gravity(self, q: Array) -> Array:
        """(3, n, nv, 10 bodies) regressors of gravity of 1 m/s^2 along each axis."""
        still, robot = np.zeros_like(q), _with_free_gravity(self.robot)
        bare = robot.with_gravity((0.0, 0.0, 0.0)).regressor(q, still, still)
        along = [robot.with_gravity(tuple(g)).regressor(q, still, still) for g in np.eye(3)]
        return np.stack([one - bare for one in along])

    @computed_once
    def columns_of_joints(self) -> tuple[slice, ...]:
        """(nv) range of the regressor columns that are not zero for a joint."""
        rng = np.random.default_rng(0)
        q = np.array([self.robot.random_configuration(rng) for _ in range(3)])
        v, a = rng.normal(size=(2, *q.shape))
        # Gravity acts through the bodies that accelerations act through.
        touched = np.abs(self.robot.regressor(q, v, a)).sum(axis=0)
        of_bodies = touched.reshape(len(touched), -1, self.bodies.shape[1]).any(axis=2)
        found = []
        for row in of_bodies:
            bodies = np.flatnonzero(row)
            first, last = (bodies[0], bodies[-1] + 1) if len(bodies) else (0, 0)
            found.append(slice(first * self.bodies.shape[1], last * self.bodies.shape[1]))
        return tuple(found)

    def explain(self, states: States) -> Explained:
        """Best explanation of states by bodies near those of the description."""
        return self.explain_all([states])[0]

    def explain_all(self, readings: Sequence[States]) -> list[Explained]:
        """Best explanation of each of several readings of the same states."""
        found: list[Explained] = []
        if not readings:
            return found
        size = max(1, MAX_ENTRIES // max(readings[0].q.size * self.bodies.size, 1))
        for first in range(0, len(readings), size):
            states = States.stacked(readings[first : first + size])
            found += self.explain_sums(
                Sums.of(self.regressor(states), states, self.columns_of_joints, self.bodies.ravel())
            )
        return found

    def explain_efforts(self, states: States, efforts: Sequence[Array]) -> list[Explained]:
        """Best explanation of the same motion with each of several efforts (n, nv)."""
        if not efforts:
            return []
        k, Y = len(efforts), self.regressor(states)[np.newaxis]
        q, v, a = (np.broadcast_to(x, (k, *x.shape)) for x in (states.q, states.v, states.a))
        return self.explain_sums(
            Sums.of(
                Y,
                States(q, v, a, np.stack(efforts)),
                self.columns_of_joints,
                self.bodies.ravel(),
            )
        )

    def sums_of_gravity(self, states: States) -> Sums:
        """Sums for any gravity: ``along`` takes 1 and the three components of gravity."""
        described = np.array([*self.robot.model.gravity])
        along = self.of_gravity(states.q)
        bare = self.regressor(states) - np.tensordot(described, along, 1)
        Y = np.stack([bare, *along], axis=-1)
        parts = Y.shape[-1]
        columns = [slice(parts * c.start, parts * c.stop) for c in self.columns_of_joints]
        one = States(*(x[np.newaxis] for x in (states.q, states.v, states.a, states.effort)))
        return Sums.of(Y.reshape(1, *Y.shape[:2], -1), one, columns, self.bodies.ravel())

    def explain_sums(self, sums: Sums, more: int = 0) -> list[Explained]:
        """Best explanation of each reading, from sums over its states.

        Args:
            sums: sums of k readings.
            more: number of additional columns, with free coefficients, after those of the bodies.
        """
        gains, rotors = self._gains_and_rotors(sums, more)
        usual = np.array([usual_gain(*both) for both in zip(gains, sums.sizes, strict=True)])
        found = self._solved(sums, more, np.ones(len(usual)), gains, rotors)
        odd = np.flatnonzero((usual <= 1.0 / MAX_UNIT_RATIO) | (usual >= MAX_UNIT_RATIO))
        if len(odd):
            other = self._solved(sums.of_readings(odd), more, usual[odd], gains[odd], rotors[odd])
            for k, one in zip(odd, other, strict=True):
                found[k] = min(found[k], one, key=lambda one: one.misfit)
        return found

    def _solved(
        self, sums: Sums, more: int, unit: Array, gains: Array, rotors: Array
    ) -> list[Explained]:
        """Explanations with so many (k) reported units a Nm or N.

        Friction and rotors of a joint are eliminated first, as they affect only its own rows.
        """
        k, nv = sums.spread.shape
        bodies, c = self.bodies.size, self.bodies.size + more
        size = sums.spread / unit[:, np.newaxis]
        reach = FRICTION_REACH * np.maximum(size, 1e-9)
        rotor = np.maximum(self.carried, rotors / unit[:, np.newaxis])
        price, scale = PRICE / nv, unit[:, np.newaxis, np.newaxis, np.newaxis]
        drives = scale**2 * sums.own[..., :EFFORT, :EFFORT]
        deviations = np.stack([rotor, reach / SLOW_REACH, reach, reach], axis=-1)
        diagonal = np.arange(EFFORT)
        drives[..., diagonal, diagonal] += price / deviations**2
        cross, efforts = scale**2 * sums.cross[..., :EFFORT], scale * sums.cross[..., EFFORT:]
        of_drives = scale * sums.own[..., :EFFORT, EFFORT:]
        # Each joint's drive for unit efforts, and for unit bodies.
        solved = np.linalg.solve(drives, np.concatenate([of_drives, cross.swapaxes(2, 3)], axis=-1))
        alone, turned = solved[..., 0], solved[..., 1:]
        flat = cross.transpose(0, 2, 1, 3).reshape(k, c, -1)
        M = scale[:, 0] ** 2 * sums.bodies - flat @ turned.reshape(k, -1, c)
        M[:, :bodies, :bodies] += price * self.divergence
        right = np.zeros((k, c, nv + 1))
        right[..., :nv] = (efforts - cross @ alone[..., np.newaxis])[..., 0].transpose(0, 2, 1)
        prior = price * (self.divergence @ self.bodies.ravel())
        right[:, :bodies, nv] = prior
        weight = 1.0 / np.sqrt(np.maximum(np.diagonal(M, axis1=1, axis2=2), 1e-300))
        M = M * weight[:, :, np.newaxis] * weight[:, np.newaxis] + 1e-10 * np.eye(c)
        Z = weight[..., np.newaxis] * np.linalg.solve(M, right * weight[..., np.newaxis])
        # Drives for unit efforts of each joint, and for the prior.
        Z_drives = -turned @ Z[:, np.newaxis]
        joints = np.arange(nv)
        Z_drives[:, joints, :, joints] += alone.transpose(1, 0, 2)
        Q = right.transpose(0, 2, 1) @ Z
        Q[:, joints, joints] += (of_drives[..., 0] * alone).sum(axis=-1)
        whole = sums.own[..., EFFORT, EFFORT].sum(axis=1) + float(prior @ self.bodies.ravel())
        speed = np.sqrt(np.maximum(sums.own[..., VISCOUS, VISCOUS], 1e-300))
        taken = sums.own[..., VISCOUS, [VISCOUS, COULOMB]] / speed[..., np.newaxis]
        power = np.einsum(
            'kjf,kjfm->kjm', taken * scale[..., 0], Z_drives[..., [VISCOUS, COULOMB], :]
        )
        squares, signs = nearest_signs(Q, whole, power)
        x = (Z @ np.concatenate([signs, np.ones((k, 1))], axis=1)[..., np.newaxis])[..., 0]
        usual = [usual_gain(*both) for both in zip(gains, size, strict=True)]
        return [
            Explained(
                float(np.sqrt(squares[i])),
                x[i, :bodies],
                x[i, bodies:],
                gains[i],
                usual[i],
                signs[i],
                float(unit[i]),
            )
            for i in range(k)
        ]

    def _gains_and_rotors(self, sums: Sums, more: int) -> tuple[Array, Array]:
        """(k, nv) gains of efforts over described torques, NaN if unknown, and rotor inertias."""
        k, nv = sums.spread.shape
        bodies = np.concatenate([self.bodies.ravel(), np.zeros(more)])
        # Columns: torque of the described robot, then those of the joint.
        G = np.empty((k, nv, 6, 6))
        G[..., 1:, 1:] = sums.own
        G[..., 0, 1:] = G[..., 1:, 0] = np.einsum('kjcf,c->kjf', sums.cross, bodies)
        G[..., 0, 0] = sums.described[..., 0, 0]
        x, significance = regressions_of_sums(G, sums.count)
        rotors = np.abs(x[..., 1 + ROTOR])
        # A rotor inertia is not negative; about a vertical axis bodies and rotor are
        # indistinguishable.
        opposite = x[..., 0] * x[..., 1 + ROTOR] < 0.0
        if opposite.any():
            kept = np.array([0, 1 + VISCOUS, 1 + OFFSET, 1 + COULOMB, 1 + EFFORT])
            without = regressions_of_sums(G[opposite][:, kept[:, np.newaxis], kept], sums.count)
            x[opposite, 0], significance[opposite, 0] = (one[:, 0] for one in without)
        constant = G[..., 1 + OFFSET, 1 + OFFSET]

        def spread(column: int) -> Array:
            mean = G[..., column, 1 + OFFSET] / constant
            return np.sqrt(np.maximum(G[..., column, column] / constant - mean**2, 0.0))

        # A constant torque may be an offset.
        known = (np.abs(significance[..., 0]) > SIGNIFICANT) & (
            np.abs(x[..., 0]) * spread(0) > MIN_CARRIED_SHARE * spread(1 + EFFORT)
        )
        return np.where(known, np.abs(x[..., 0]), np.nan), rotors


def _with_free_gravity(robot: Robot) -> Robot:
    """The robot with gravity as an input of its kernels, which are compiled once."""
    if robot not in _FREE_GRAVITY:
        _FREE_GRAVITY[robot] = robot.adjustable()
    return _FREE_GRAVITY[robot]


_FREE_GRAVITY: WeakKeyDictionary[Robot, Robot] = WeakKeyDictionary()


def usual_gain(gains: Array, sizes: Array) -> float:
    """Weighted median of the gains of joints, with the sizes of efforts as weights.

    The weights reduce the effect of a tool that is not in the description, which dominates the
    efforts of a wrist.

    Args:
        gains: (nv) reported effort over torque; NaN if not determined.
        sizes: (nv) sizes of the reported efforts.
    """
    known = np.isfinite(gains)
    if not known.any():
        return 1.0
    order = np.argsort(gains[known])
    share = np.cumsum(sizes[known][order])
    return float(gains[known][order][np.searchsorted(share, 0.5 * share[-1])])
