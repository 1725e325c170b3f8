# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far external torques are above the thresholds of a contact, which grow with speed.

A threshold is a constant, plus a term times the speed of its joint [Haddadin2017]: what friction
and model leave unexplained grows with motion.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import magnitude, where_less

UNWATCHED = 1e300
"""Stands for the threshold of a joint that is not watched: kernels take finite numbers."""


def contact_excess(
    torque: Sequence[Scalar],
    v: Sequence[Scalar],
    constants: Sequence[Sequence[Scalar]],
    velocity_term: Sequence[Scalar],
) -> tuple[list[Scalar], list[list[Scalar]], Scalar]:
    """What motion adds to each threshold, which ones are exceeded, and the largest excess.

    Args:
        torque: (nv) external torques.
        v: (nv) velocities.
        constants: rows of (nv) thresholds at rest.
        velocity_term: (nv) added per speed.

    Returns:
        (nv) added; for each row (nv) 1 where |torque| is above the threshold, else 0; and the
        largest of |torque| - threshold.
    """
    added = [term * magnitude(speed) for term, speed in zip(velocity_term, v, strict=True)]
    largest: Scalar = -UNWATCHED
    above = []
    for row in constants:
        marks = []
        for value, constant, more in zip(torque, row, added, strict=True):
            excess = magnitude(value) - (constant + more)
            marks.append(where_less(0.0, excess, 1.0, 0.0))
            largest = where_less(largest, excess, excess, largest)
        above.append(marks)
    return added, above, largest
