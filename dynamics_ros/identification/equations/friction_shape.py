# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of friction in the equations of a recording, and the shapes of its curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FRICTION_VELOCITIES = (0.02, 0.005, 0.0063, 0.008, 0.01, 0.0125, 0.016, 0.025, 0.032, 0.04, 0.05)
"""Candidates of v_f [rad/s or m/s]; the first one is the default."""

STRIBECK_VELOCITIES = (0.1, 0.2, 0.4, 1.0)
"""Candidates of v_s [rad/s or m/s]."""

TURNING_DISTANCE = 1e-3
"""Usual distance in which friction turns round after a reversal [rad or m]."""


@dataclass(frozen=True)
class FrictionShape:
    """Speeds that determine the shape of a friction curve [rad/s or m/s].

    Attributes:
        velocity: v_f; Coulomb friction reaches 76 % of its value at this speed.
        stribeck_velocity: v_s; the Stribeck term falls to 37 % at this speed. None: no such term.
        loads: typical load of each joint with load-dependent friction, 0 for others [Nm or N];
            empty if the equations have no load column.
    """

    velocity: float
    stribeck_velocity: float | None
    loads: tuple[float, ...] = ()

    def unknowns(self) -> Array:
        """(k, 3 to 5) matrix that maps friction coefficients to ``friction_columns``.

        Columns: viscous, offset, Coulomb, and with a Stribeck term the dry friction at rest, so
        that all coefficients except the offset are non-negative. With loads there are all five
        columns, zero for unused terms, and one more row.
        """
        first = 2 + FRICTION_VELOCITIES.index(self.velocity) * (1 + len(STRIBECK_VELOCITIES))
        count = 2 + len(FRICTION_VELOCITIES) * (1 + len(STRIBECK_VELOCITIES))
        columns = np.eye(count)[:, [0, 1, first]]
        if self.stribeck_velocity is not None:
            fading = np.eye(count)[:, first + 1 + STRIBECK_VELOCITIES.index(self.stribeck_velocity)]
            columns[:, 2] -= fading
            columns = np.column_stack([columns, fading])
        if not self.loads:
            return columns
        with_load = np.zeros((count + 1, 5))
        with_load[:count, : columns.shape[1]] = columns
        with_load[count, 4] = 1.0
        return with_load


SIMPLEST = FrictionShape(FRICTION_VELOCITIES[0], None)


def friction_columns(v: Array) -> Array:
    """(..., k) columns of all friction shapes at velocities (...)."""
    found = np.empty((*v.shape, 2 + len(FRICTION_VELOCITIES) * (1 + len(STRIBECK_VELOCITIES))))
    found[..., 0], found[..., 1], column = v, 1.0, 2
    faded = [np.exp(-((v / speed) ** 2)) for speed in STRIBECK_VELOCITIES]
    for velocity in FRICTION_VELOCITIES:
        smooth = np.tanh(v / velocity)
        found[..., column] = smooth
        for k, share in enumerate(faded, start=1):
            np.multiply(smooth, share, out=found[..., column + k])
        column += 1 + len(faded)
    return found


@dataclass(frozen=True, eq=False)
class Load:
    """Torque transmitted by the joints, for load-dependent friction ([Hamon2010]).

    It is the torque of bodies and rotors, the motor torque after friction, as in
    ``joint_friction.torque_behind_friction``.

    Attributes:
        base: (b) base parameters of the robot, from a previous fit.
        velocity: v_f [rad/s or m/s].
        joints: (nv) whether a joint may have load-dependent friction.
    """

    base: Array
    velocity: float
    joints: NDArray[np.bool_]

    def column(self, Y: Array, v: Array) -> Array:
        """(n, nv) column |load| tanh(v / v_f) of regressors (n, nv, b) and velocities (n, nv)."""
        found: Array = np.abs(Y @ self.base) * np.tanh(v / self.velocity) * self.joints
        return found


def late_friction(q: Array, v: Array) -> Array:
    """(n, nv) what unit dry friction lacks after a reversal, because gears bend before they slip.

    Friction turns round within a distance d of motion, dz/dq = (sign v - z) / d (Dahl's model): it
    lacks 2 exp(-distance / d) of its new sign.

    Args:
        q, v: consecutive positions and velocities (n, nv).
    """
    sign = np.sign(v)
    index = np.zeros(q.shape, dtype=np.int64)
    index[1:] = np.where(sign[1:] != sign[:-1], np.arange(1, len(q))[:, np.newaxis], 0)
    last = np.maximum.accumulate(index, axis=0)
    way = np.zeros_like(q)
    way[1:] = np.cumsum(np.abs(np.diff(q, axis=0)), axis=0)
    distance = way - np.take_along_axis(way, last, axis=0)
    return np.where(last > 0, -2.0 * sign * np.exp(-distance / TURNING_DISTANCE), 0.0)
