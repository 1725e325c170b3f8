# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether the motion of an arm runs away: rate-limited torques lag, and springs would drive it."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.quantity import PerVelocity, quantity
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import larger, magnitude, where_less

Values = Sequence[Scalar]

CAUGHT = 0.1
"""Share of the velocity limit that every joint must fall below after running away.

Only then does the arm follow targets again.
"""


@quantity(
    'whether the motion of an arm runs away',
    '1 from too large a velocity on, until all are small, else 0',
    internal=True,
)
def runaway_step(v: PerVelocity, limits: PerVelocity, share: Scalar, before: Scalar) -> Scalar:
    """1 from the sample on at which a joint exceeds a share of its velocity limit, else 0.

    It is 0 again once all joints are below ``CAUGHT`` of their limits.

    Args:
        v: velocities (nv).
        limits: velocity limits (nv).
        share: share of the limits.
        before: result of the previous sample.
    """
    fastest: Scalar = 0.0
    for speed, limit in zip(v, limits, strict=True):
        fastest = larger(magnitude(speed) / limit, fastest)
    caught = where_less(fastest, CAUGHT, 0.0, before)
    return where_less(share, fastest, 1.0, caught)
