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
[rad/s]. The first one is the usual one, and is chosen by ``friction_terms``."""


def friction_columns(
    v: Array, speed: float, stribeck: bool, motion: Array | float, carried: Array | float
) -> Array:
    """(..., nv, 5) columns of viscous friction, offset, Coulomb friction, that at rest, and load.

    Args:
        v: (..., nv) velocities [rad/s or m/s].
        speed: v_f [rad/s].
        stribeck: whether friction at rest differs from Coulomb friction; else its column is 0.
        motion: (nv) motion of each joint that corresponds to 1 rad [rad or m].
        carried: (..., nv) torques that the joints transmit; 0 without load friction [Nm or N].
    """
    smooth = np.tanh(v / (speed * motion))
    fading = stribeck * smooth * np.exp(-((v / (STRIBECK_VELOCITY * motion)) ** 2))
    columns = v, np.ones_like(v), smooth - fading, fading, np.abs(carried) * smooth
    return np.stack(columns, axis=-1)
