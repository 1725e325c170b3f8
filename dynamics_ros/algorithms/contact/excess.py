# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Excess of external torques over velocity-dependent contact thresholds.

A threshold is a constant plus a coefficient times the speed of the joint [Haddadin2017], because
errors of the friction model and of the dynamic model grow with speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.quantity import Input, PerVelocity, V, Values, quantity
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import magnitude, where_less

UNWATCHED = 1e300
"""Threshold of a joint that is not monitored; finite, because kernels reject infinite inputs."""


@quantity(
    'how far external torques are above thresholds that grow with speed',
    {
        'added': 'what motion adds to each threshold, torques',
        'above': '1 for each threshold that is exceeded',
        'excess': 'the largest of |torque| - threshold',
    },
    internal=True,
)
def contact_excess(
    external_torque: PerVelocity,
    v: V,
    constants: Annotated[Sequence[Values], Input(2, 'nv')],
    velocity_term: PerVelocity,
) -> tuple[list[Scalar], list[list[Scalar]], Scalar]:
    """Compare external torques with thresholds that grow with speed.

    Args:
        external_torque: (nv) external torques [Nm or N].
        v: (nv) velocities [rad/s or m/s].
        constants: rows of (nv) thresholds at rest [Nm or N].
        velocity_term: (nv) increase of a threshold per speed.

    Returns:
        The increase of the thresholds by the speed (nv); for each row of ``constants`` (nv) flags,
        1 where |torque| exceeds the threshold, else 0; the largest |torque| - threshold of all.
    """
    increases = [term * magnitude(speed) for term, speed in zip(velocity_term, v, strict=True)]
    largest: Scalar = -UNWATCHED
    exceeded = []
    for row in constants:
        flags = []
        for value, constant, increase in zip(external_torque, row, increases, strict=True):
            excess = magnitude(value) - (constant + increase)
            flags.append(where_less(0.0, excess, 1.0, 0.0))
            largest = where_less(largest, excess, excess, largest)
        exceeded.append(flags)
    return increases, exceeded, largest
