# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of friction in the equations of a recording.

All coefficients but the offset are not negative. Load-dependent friction is that of [Hamon2010];
the load is the torque of bodies and rotors, the motor torque after friction, as in
``joint_friction.torque_behind_friction``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FRICTION_VELOCITY, STRIBECK_VELOCITY = 0.02, 0.2
"""Speeds v_f, at which dry friction reaches 76 %, and v_s, at which the Stribeck term falls to 37 %
[rad/s]. The first one is the usual one, and is chosen by ``friction_shape``."""

TURNING_DISTANCE = 1e-3
"""Usual distance in which friction turns round after a reversal [rad]."""


def friction_columns(
    v: Array, speed: float, stribeck: bool, motion: Array | float, carried: Array | float
) -> Array:
    """(..., nv, 5) columns of viscous friction, offset, Coulomb friction, that at rest, and load.

    Args:
        v: (..., nv) velocities [rad/s or m/s].
        speed: v_f [rad/s].
        stribeck: whether friction at rest differs from Coulomb friction; otherwise its column is 0.
        motion: (nv) motion of each joint that corresponds to 1 rad [rad or m].
        carried: (..., nv) torques that the joints transmit; 0 without load friction [Nm or N].
    """
    smooth = np.tanh(v / (speed * motion))
    fading = stribeck * smooth * np.exp(-((v / (STRIBECK_VELOCITY * motion)) ** 2))
    columns = v, np.ones_like(v), smooth - fading, fading, np.abs(carried) * smooth
    return np.stack(columns, axis=-1)


def late_friction(q: Array, v: Array) -> Array:
    """(n, nv) what unit dry friction lacks after a reversal, because gears bend before they slip.

    Friction turns round within a distance d of motion, dz/dq = (sign v - z) / d (Dahl's model): it
    lacks 2 exp(-distance / d) of its new sign.

    Args:
        q, v: consecutive positions and velocities (n, nv) [rad, rad/s].
    """
    sign = np.sign(v)
    index = np.zeros(q.shape, dtype=np.int64)
    index[1:] = np.where(sign[1:] != sign[:-1], np.arange(1, len(q))[:, np.newaxis], 0)
    last = np.maximum.accumulate(index, axis=0)
    way = np.zeros_like(q)
    way[1:] = np.cumsum(np.abs(np.diff(q, axis=0)), axis=0)
    distance = way - np.take_along_axis(way, last, axis=0)
    return np.where(last > 0, -2.0 * sign * np.exp(-distance / TURNING_DISTANCE), 0.0)
