# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Energy tank that bounds the energy that a controller can supply to the robot.

All work of the control torques is taken from the tank ([Ferraguti2013], [Lachner2021]). Torques
that were held between two samples did the work tau . (q_1 - q_0) exactly ([Stramigioli2005]), and
the level decreases by that work. The supplied energy is thus bounded by the initial level, whatever
changes stiffness, targets or forces.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.linear_algebra.solve import dot
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import sqrt, where_less

from .validity import at_least, at_most

Values = Sequence[Scalar]

TINY = 1e-12
"""Energy [J] that is added to divisors to avoid a division by zero."""


def level_after(level: Scalar, capacity: Scalar, torques: Values, moved: Values) -> Scalar:
    """Level [J] after torques (nv) were held along a displacement (nv); at most the capacity."""
    return at_most(level - dot(torques, moved), capacity)


def valve(level: Scalar, horizon: Scalar, torques: Values, v: Values, a: Values) -> Scalar:
    """Largest factor s <= 1 for torques whose work within a horizon does not exceed the level.

    Torques s tau held from velocity v cause the displacement s a h^2/2 + v h and the work
    A s^2 + B s with A = tau . a h^2/2 and B = tau . v h. The factor is the larger root of
    A s^2 + B s = level. With an empty tank, torques can only brake.

    Args:
        level: energy in the tank [J]; a negative level counts as 0.
        horizon: h [s], at least the control interval.
        torques, v: desired torques (nv), velocities (nv).
        a: accelerations (nv) due to these torques alone.
    """
    available = at_least(level, 0.0)
    # tau . M^-1 tau is not negative, except by rounding.
    A = at_least(0.5 * horizon * horizon * dot(torques, a), 0.0) + TINY
    B = horizon * dot(torques, v)
    root = sqrt(B * B + 4.0 * A * available)
    # Two forms of the same root; each is used where it has no cancellation.
    driving = 2.0 * available / (at_least(B, 0.0) + root + TINY)
    braking = (root - B) / (2.0 * A)
    return at_most(where_less(B, 0.0, braking, driving), 1.0)
