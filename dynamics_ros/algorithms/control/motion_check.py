# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far a sample of joint motion exceeds what is physically possible after the previous sample.

Two bounds are checked for each joint, with Delta q the position change and v-bar the mean of the
previous and the current velocity:

- jump: an impact may drive a joint far beyond its velocity limit, so motion at v-bar is accepted
  too; of the rest, |Delta q| may be at most 2 v_max dt + ``JUMP``. Where velocities are differences
  of positions, this accepts half of a jump.
- contradiction: with a time constant ``MEMORY``, a = sum of v-bar dt - Delta q and w = sum of
  max(|v-bar dt|, |Delta q|); |a| may be at most ``APART`` + ``SHARE_APART`` w. Springs use
  positions and dampers use velocities, so both must be right.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.algorithms.configuration import difference
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import clipped, exp, larger, magnitude, smaller, where_less

Values = Sequence[Scalar]

JUMP = 0.01
"""Position error allowed in addition to what the velocity limits permit [rad or m]."""

MEMORY = 0.5
"""Time constant over which positions and velocities are compared [s]."""

APART, SHARE_APART = 0.02, 0.5
"""Allowed difference between integrated velocity and position change.

The first is absolute [rad or m], the second a share of the distance moved. Filter delay stays below
it; velocities in wrong units exceed it.
"""

MAX_STEP = 0.05
"""Longest sample interval over which velocities are integrated [s]."""

CHECKS = ('jump', 'contradiction')
"""Rows of the excess."""


def motion_check(
    model: Model,
    q: Values,
    v: Values,
    previous_q: Values,
    previous_v: Values,
    memory: Sequence[Values],
    velocity_limits: Values,
    interval: Scalar,
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Excess of a sample over the bounds above, and the memory for the next sample.

    Args:
        model: the robot.
        q, v: (nq), (nv) of the sample.
        previous_q, previous_v: those of the sample before.
        memory: (2, nv) a and w of the sample before.
        velocity_limits: (nv) [rad/s or m/s].
        interval: time since the sample before [s].

    Returns:
        (2, nv) excess over each bound, rows as in ``CHECKS``, positive where a sample is
        impossible; (2, nv) memory, zero after an interval longer than ``MAX_STEP``.
    """
    kept = exp(-interval / MEMORY)
    jumps, contradictions = [], []
    apart, way = [], []
    moves = difference(model, previous_q, q)
    for moved, v0, v1, a, w, fastest in zip(
        moves, previous_v, v, *memory, velocity_limits, strict=True
    ):
        driven = 0.5 * (v0 + v1) * interval
        explained = clipped(moved, smaller(driven, 0.0), larger(driven, 0.0))
        jumps.append(magnitude(moved - explained) - 2.0 * fastest * interval - JUMP)
        a = _integrable(interval, kept * a + driven - moved)
        w = _integrable(interval, kept * w + larger(magnitude(driven), magnitude(moved)))
        apart.append(a)
        way.append(w)
        contradictions.append(magnitude(a) - APART - SHARE_APART * w)
    return [jumps, contradictions], [apart, way]


def _integrable(interval: Scalar, x: Scalar) -> Scalar:
    """x after an interval over which velocities can be integrated, else 0."""
    return where_less(0.0, interval, where_less(interval, MAX_STEP, x, 0.0), 0.0)
