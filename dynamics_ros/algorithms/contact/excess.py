# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Excess of external torques over contact thresholds that depend on the motion.

A threshold is a constant plus a coefficient times the speed of the joint [Haddadin2017], because
errors of the friction model and of the dynamic model grow with speed, plus the increase that
``unexplained.py`` computes from a calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.quantity import Input, PerVelocity, V, Values, quantity
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import magnitude, where_less

from .unexplained import MEMORY, ROWS, unexplained_torque

UNWATCHED = 1e300
"""Threshold of a joint that is not monitored; finite, because kernels reject infinite inputs."""


@quantity(
    'how far external torques are above thresholds that grow with speed, load and reversals',
    {
        'deviation': 'of each external torque without contact, by a calibration',
        'added': 'what motion adds to each threshold, torques',
        'above': '1 for each threshold that is exceeded',
        'excess': 'the largest of |torque| - threshold',
        'next_memory': 'for the next state',
    },
    internal=True,
)
def contact_excess(
    external_torque: PerVelocity,
    v: V,
    load: PerVelocity,
    memory: Annotated[Sequence[Values], Input(MEMORY, 'nv')],
    interval: Scalar,
    rows: Annotated[Sequence[Values], Input(len(ROWS), 'nv')],
    sigmas: PerVelocity,
    constants: Annotated[Sequence[Values], Input(2, 'nv')],
    velocity_term: PerVelocity,
) -> tuple[list[Scalar], list[Scalar], list[list[Scalar]], Scalar, list[list[Scalar]]]:
    """Compare external torques with thresholds that depend on the motion.

    Args:
        external_torque: (nv) external torques [Nm or N].
        v, load, memory, interval, rows, sigmas: as of ``unexplained_torque``; rows of zeros, but
            for ``slow``, without a calibration.
        constants: rows of (nv) thresholds at rest [Nm or N].
        velocity_term: (nv) increase of a threshold per speed.

    Returns:
        Deviations (nv); the increase of the thresholds by the motion (nv); for each row of
        ``constants`` (nv) flags, 1 where |torque| exceeds the threshold, else 0; the largest
        |torque| - threshold of all; the memory for the next state.
    """
    deviations, more, memories = unexplained_torque(v, load, memory, interval, rows, sigmas)
    increases = [
        term * magnitude(speed) + x for term, speed, x in zip(velocity_term, v, more, strict=True)
    ]
    largest: Scalar = -UNWATCHED
    exceeded = []
    for row in constants:
        flags = []
        for value, constant, increase in zip(external_torque, row, increases, strict=True):
            excess = magnitude(value) - (constant + increase)
            flags.append(where_less(0.0, excess, 1.0, 0.0))
            largest = where_less(largest, excess, excess, largest)
        exceeded.append(flags)
    return deviations, increases, exceeded, largest, memories
