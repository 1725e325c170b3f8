# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decay of the motion of a robot that floats: it carries only its own weight ([DeLuca2006])."""

from __future__ import annotations

from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.algorithms.mass_matrix import mass_matrix
from dynamics_ros.algorithms.quantity import Q, V, quantity
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import smaller

STABLE = 0.5
"""Largest share of a velocity that one sample removes."""


@quantity(
    'torques that let the motion of a floating robot decay',
    'torques in addition to those of gravity and Coriolis forces',
    internal=True,
)
def floating_torques(model: Model, q: Q, v: V, rate: Scalar, interval: Scalar) -> list[Scalar]:
    """Torques (nv) tau = - rate M v, in addition to those of gravity and Coriolis forces.

    Args:
        model: the robot.
        q, v: state (nq), (nv).
        rate: decay rate of the velocity [1/s]; bounded by ``STABLE``.
        interval: time since the previous sample [s].
    """
    rate = smaller(rate, STABLE / interval)
    decay = [-rate * x for x in v]
    return [dot(row, decay) for row in mass_matrix(model, q)]
