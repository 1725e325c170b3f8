# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reflexes of a robot to external joint torques r ([DeLuca2006], [Haddadin2017])."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.quantity import Input, PerVelocity, Q, V, quantity
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import clipped, larger, magnitude, smaller, where_less

Values = Sequence[Scalar]

SETTINGS = ('rate', 'torque_gain', 'admittance', 'speed')
"""Decay rate of the difference from the wanted velocity [1/s], motor torque per external torque,
velocity per external torque [rad/s/Nm, m/s/N], largest velocity [rad/s or m/s]."""

STABLE = 0.5
"""Largest share of a difference of velocities that one sample removes."""

TINY = 1e-9
"""Lower bound of a velocity used as a divisor [rad/s or m/s]."""


@quantity(
    'torques of a reflex to external torques',
    'torques in addition to those of gravity and Coriolis forces',
    internal=True,
)
def reflex_torques(
    model: Model,
    q: Q,
    v: V,
    external: PerVelocity,
    settings: Annotated[Values, Input(len(SETTINGS))],
    interval: Scalar,
) -> list[Scalar]:
    """Torques (nv) of a reflex, in addition to those of gravity and Coriolis forces.

        tau = M (v* - v) rate + K s r,    v* = A r, at most the largest velocity,

    where s decreases to zero as a joint that r accelerates reaches the largest velocity. The links
    appear lighter to the environment by a factor of 1 + K.

    Args:
        model: the robot.
        q, v: state (nq), (nv).
        external: r (nv), torques of the environment on the robot.
        settings: values as in ``SETTINGS``: rate, K, A, largest velocity.
        interval: time since the previous sample [s].
    """
    rate, torque_gain, admittance, speed = settings
    rate = smaller(rate, STABLE / interval)
    wanted = [admittance * r for r in external]
    fastest: Scalar = TINY
    for x in wanted:
        fastest = larger(magnitude(x), fastest)
    # One factor for all joints keeps the direction.
    share = smaller(speed / fastest, 1.0)
    tracked = [rate * (share * x - y) for x, y in zip(wanted, v, strict=True)]
    torques = []
    for row, x, r in zip(mass_matrix(model, q), v, external, strict=True):
        along = where_less(r, 0.0, -x, where_less(0.0, r, x, 0.0))
        pushed = torque_gain * clipped(1.0 - along / speed, 0.0, 1.0) * r
        torques.append(dot(row, tracked) + pushed)
    return torques
