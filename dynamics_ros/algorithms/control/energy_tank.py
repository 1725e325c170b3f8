# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The energy that a controller may give away: a tank that its work empties and fills.

All work of the control torques passes through the tank ([Ferraguti2013], [Lachner2021]): torques
that were held between two samples did tau . (q_1 - q_0), exactly ([Stramigioli2005]), and the level
goes down by that. What stiffness, targets or forces change does not matter; what is taken out is
not more than what was in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import sqrt, where_less

from .validity import at_least, at_most

Values = Sequence[Scalar]

TINY = 1e-12
"""J: below it there is nothing to divide by."""


def level_after(level: Scalar, capacity: Scalar, torques: Values, moved: Values) -> Scalar:
    """What is left of the energy after torques (nv) were held along a displacement (nv) [J]."""
    return at_most(level - dot(torques, moved), capacity)


def valve(level: Scalar, horizon: Scalar, torques: Values, v: Values, a: Values) -> Scalar:
    """The share of torques, at most 1, whose work within a horizon is no more than a level.

    s tau from velocity v makes the displacement s a h^2/2 + v h and the work A s^2 + B s with
    A = tau . a h^2/2 and B = tau . v h; the share is the larger root of A s^2 + B s = level. An
    empty tank lets torques brake, and nothing else.

    Args:
        level: what is in the tank [J]; less than nothing counts as nothing.
        horizon: h [s], at least the interval.
        torques, v: what is wanted, and how the joints move (nv).
        a: accelerations that the torques alone make (nv).
    """
    available = at_least(level, 0.0)
    # tau . M^-1 tau is positive; rounding might not be.
    A = at_least(0.5 * horizon * horizon * dot(torques, a), 0.0) + TINY
    B = horizon * dot(torques, v)
    root = sqrt(B * B + 4.0 * A * available)
    # Each form of the root where it has no difference of like numbers.
    driving = 2.0 * available / (at_least(B, 0.0) + root + TINY)
    braking = (root - B) / (2.0 * A)
    return at_most(where_less(B, 0.0, braking, driving), 1.0)
