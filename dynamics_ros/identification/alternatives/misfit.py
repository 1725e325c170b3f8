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
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.identification.bodies import pseudo_inertia
from dynamics_ros.identification.joint_states.clock import Stretch
from dynamics_ros.robot import Robot

from .nearest import SIGNIFICANT, nearest, regressions

Array = NDArray[np.float64]

WINDOW, ROWS = 0.2, 120
"""Duration over which states are averaged [s]; approximate number of states."""

COULOMB_SPEED = 0.02
"""Speed at which Coulomb friction reaches 76 % [rad/s or m/s]."""

PRICE = 1e-3
"""Price of one unit of divergence, divided by the number of joints. If all masses are wrong by a
third, the misfit is 2 % of the variation of efforts."""

MIN_EFFORT_SPREAD = 0.01
"""Least standard deviation of the efforts of a joint, over the largest one; smaller is noise."""

TOOL_FACTOR = 1e-4
"""Factor on the price of the last bodies, which may carry a tool that is in no description."""

HELD_FACTOR = 1e4
"""Factor on the divergence if masses are known to be as described."""

FRICTION_REACH, SLOW_REACH = 2.0, 0.1
"""Prior deviation of friction and offsets over the standard deviation of efforts; speed at which
viscous friction reaches it [rad/s or m/s]."""

ROTOR_REACH = 0.1
"""Least prior deviation of a rotor inertia, over the largest inertia that any joint carries."""

MIN_CARRIED_SHARE, MAX_UNIT_RATIO = 0.3, 3.0
"""Least share of its efforts that bodies explain for a joint to determine the unit; ratio of
efforts to torques, or its inverse, that is still plausible."""


@dataclass(frozen=True, eq=False)
class States:
    """Averaged motion and efforts of some states (n, nv each)."""

    q: Array
    v: Array
    a: Array
    effort: Array

    @classmethod
    def of(cls, stretches: Sequence[Stretch]) -> States:
        """Select and average states of recordings."""
        parts = []
        total = sum(len(one) for one in stretches)
        for one in stretches:
            half = max(1, round(0.5 * WINDOW / one.period))
            if len(one) < 8 * half:
                continue
            kernel = np.ones(2 * half + 1) / (2 * half + 1)
            q, effort = (
                np.stack([np.convolve(column, kernel, 'valid') for column in values.T], axis=1)
                for values in (one.position, one.effort)
            )
            v = np.gradient(q, one.period, axis=0)
            v = np.stack([np.convolve(column, kernel, 'same') for column in v.T], axis=1)
            a = np.gradient(v, one.period, axis=0)
            inside = slice(2 * half, len(q) - 2 * half, max(1, total // ROWS))
            parts.append([values[inside] for values in (q, v, a, effort)])
        if not parts:
            return cls(*np.zeros((4, 0, stretches[0].position.shape[1])))
        return cls(*(np.concatenate(values) for values in zip(*parts, strict=True)))

    def __len__(self) -> int:
        return len(self.q)

    def permuted(self, order: NDArray[np.int64]) -> States:
        """States with joints in another order."""
        return States(*(one[:, order] for one in (self.q, self.v, self.a, self.effort)))

    def turned(self, signs: Array) -> States:
        """States with positions and their derivatives multiplied by signs or scales (nv)."""
        return replace(self, q=self.q * signs, v=self.v * signs, a=self.a * signs)

    def faster(self, factor: float) -> States:
        """States of a motion that is faster by a factor."""
        return replace(self, v=self.v * factor, a=self.a * factor**2)


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

    def explain(
        self, states: States, Y: Array | None = None, more: Array | None = None
    ) -> Explained:
        """Best explanation of states by bodies near those of the description.

        Args:
            states: states of a recording.
            Y: (n, nv, 10 bodies) regressor; None: that of the robot with described gravity.
            more: (n, nv, m) additional columns with free coefficients.
        """
        Y = self.regressor(states) if Y is None else Y
        gains, rotors = _gains_and_rotors(Y @ self.bodies.ravel(), states)
        usual = usual_gain(gains, np.linalg.norm(states.effort, axis=0))
        units = {1.0} if 1.0 / MAX_UNIT_RATIO < usual < MAX_UNIT_RATIO else {1.0, usual}
        tried = [self._solve(states, Y, more, unit, gains, rotors) for unit in units]
        return min(tried, key=lambda one: one.misfit)

    def _solve(
        self, states: States, Y: Array, more: Array | None, unit: float, gains: Array, rotors: Array
    ) -> Explained:
        n, nv = states.q.shape
        v, torque = states.v, states.effort / unit
        size = torque.std(axis=0)
        size = np.maximum(size, MIN_EFFORT_SPREAD * size.max()) + 1e-300
        weight = 1.0 / size / np.sqrt(n * nv)
        bodies, extra = self.bodies.size, 0 if more is None else more.shape[-1]
        count, joints = bodies + 4 * nv + extra, np.arange(nv)
        A = np.zeros((n, nv, count))
        A[..., :bodies] = Y
        for k, column in enumerate((states.a, v, np.ones_like(v), np.tanh(v / COULOMB_SPEED))):
            A[:, joints, bodies + k * nv + joints] = column
        if more is not None:
            A[..., bodies + 4 * nv :] = more
        A, y = A * weight[:, np.newaxis], torque * weight
        power = np.zeros((nv, count))
        for k in (1, 3):
            own = bodies + k * nv + joints
            power[joints, own] = (A[:, joints, own] * v).sum(axis=0)
        power /= np.maximum(np.linalg.norm(v, axis=0), 1e-300)[:, np.newaxis]
        reach = FRICTION_REACH * np.maximum(size, 1e-9)
        rotor = np.maximum(self.carried, rotors / unit)
        P = np.zeros((count, count))
        P[:bodies, :bodies] = self.divergence
        diagonal = np.arange(bodies, bodies + 4 * nv)
        own = np.concatenate([rotor, reach / SLOW_REACH, reach, reach])
        P[diagonal, diagonal] = 1.0 / own**2
        mean = np.zeros(count)
        mean[:bodies] = self.bodies.ravel()
        flat = A.reshape(n * nv, count)
        G = (A.transpose(1, 2, 0) @ y.T[..., np.newaxis])[..., 0]
        found = nearest(flat.T @ flat, G, float((y**2).sum()), PRICE / nv * P, mean, power)
        rest = found.x[:bodies], found.x[count - extra :]
        return Explained(found.misfit, *rest, gains, usual_gain(gains, size), found.signs, unit)


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
    told = np.isfinite(gains)
    if not told.any():
        return 1.0
    order = np.argsort(gains[told])
    share = np.cumsum(sizes[told][order])
    return float(gains[told][order][np.searchsorted(share, 0.5 * share[-1])])


def _gains_and_rotors(described: Array, states: States) -> tuple[Array, Array]:
    """(nv) gains of efforts over torques of the described robot, NaN if unknown, and (nv) rotors.

    Args:
        described: (n, nv) torques of the described robot.
        states: states with efforts as reported.
    """
    y, v = states.effort.T, states.v.T
    A = np.stack([described.T, states.a.T, np.ones_like(v), v, np.tanh(v / COULOMB_SPEED)], axis=2)
    x, told = regressions(A, y, len(states))
    rotors = np.abs(x[:, 1])
    # A rotor inertia is not negative; about a vertical axis bodies and rotor are indistinguishable.
    opposite = x[:, 0] * x[:, 1] < 0.0
    if opposite.any():
        kept = [0, 2, 3, 4]
        without = regressions(A[opposite][..., kept], y[opposite], len(states))
        x[opposite, 0], told[opposite, 0] = (one[:, 0] for one in without)
    # A constant torque may be an offset.
    known = (np.abs(told[:, 0]) > SIGNIFICANT) & (
        np.abs(x[:, 0]) * described.std(axis=0) > MIN_CARRIED_SHARE * y.std(axis=1)
    )
    return np.where(known, np.abs(x[:, 0]), np.nan), rotors
