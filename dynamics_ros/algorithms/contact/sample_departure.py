# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of abrupt changes between consecutive joint states, relative to their usual change.

The usual change u of a value x is the mean magnitude of its changes over about fifty samples. A
single change counts at most as twice the current limit:

    d = |x_1 - x_0|,   limit = max(floor, sigmas u_0),
    u_1 = u_0 + CHANGE_WEIGHT (min(d, 2 limit) - u_0).

Angles that differ by a whole turn are the same: drivers wrap those of continuous joints. A
departure is a change above the limit. ``estimation/samples/sample_filter.py`` decides with the
next sample whether it is an outlier, by a median of three ([Hampel1974] for the scale).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.configuration import joint_positions
from dynamics_ros.algorithms.quantity import Input, PerVelocity, Q, V, quantity
from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import larger, magnitude, smaller, where_less

Values = Sequence[Scalar]

CHANGE_WEIGHT = 0.02
"""Weight of the newest change in the usual change."""

DECAY = 0.99
"""Decay factor, per change of the effort, of the largest number of samples without a change."""

STAMP_UNCERTAINTY = 2e-3
"""Assumed uncertainty of the time between two positions, as given by their stamps [s]."""

QUANTITIES = ('position', 'velocity', 'effort')

MEMORY = 8
"""Rows of the memory between samples: position, velocity, effort, the usual change of each, the
number of samples since the effort changed, and the largest such number, which decays."""

SETTINGS = (
    *('sigmas', 'speed', 'velocity_floor', 'effort_floor'),
    *('position_bound', 'velocity_bound', 'effort_bound'),
)
"""Rows of the settings, one value per velocity. ``speed`` is the speed at which a position may
change; the bounds are the largest accepted magnitudes."""


@quantity(
    'how far a sample of joint states departs from the one before it',
    {
        'departs': '1 for each position, velocity and effort that departs from the last',
        'beyond': '1 for each of them beyond its bound',
        'excess': 'how far the worst of them is above its limit',
        'next_memory': 'for the next sample',
    },
    internal=True,
)
def sample_departure(
    model: Model,
    q: Q,
    v: V,
    effort: PerVelocity,
    memory: Annotated[Sequence[Values], Input(MEMORY, 'nv')],
    interval: Scalar,
    settings: Annotated[Sequence[Values], Input(len(SETTINGS), 'nv')],
) -> tuple[list[list[Scalar]], list[list[Scalar]], Scalar, list[list[Scalar]]]:
    """Compare a sample with the previous one.

    Args:
        model: the robot; only positions of joints with one coordinate are compared.
        q, v, effort: the sample (nq), (nv), (nv).
        memory: (MEMORY, nv) after the previous sample.
        interval: time since the previous sample [s].
        settings: (7, nv), rows as in ``SETTINGS``.

    Returns:
        (3, nv) flags, 1 where position, velocity, effort change by more than the limit; (3, nv)
        flags, 1 where they are beyond their bounds; the largest excess over a limit or bound,
        positive only if there is one; the memory (MEMORY, nv) for the next sample, if this sample
        is accepted.
    """
    values = dict(zip(SETTINGS, settings, strict=True))
    sample = [joint_positions(model, q), list(v), list(effort)]
    floors = [
        [(interval + STAMP_UNCERTAINTY) * speed for speed in values['speed']],
        values['velocity_floor'],
        values['effort_floor'],
    ]
    bounds = [values[f'{quantity}_bound'] for quantity in QUANTITIES]
    excess: Scalar = -1.0
    turns = [math.inf] * model.nv
    for joint in model.actuated:
        if len(joint.q_indices) == 1 and joint.kind.units == ('rad',):
            turns[joint.v_indices[0]] = 2.0 * math.pi
    never = [math.inf] * model.nv
    departures: list[list[Scalar]] = []
    out_of_bounds: list[list[Scalar]] = []
    usual_changes: list[list[Scalar]] = []
    for x, before, mean, floor, bound, periods in zip(
        *(sample, memory[:3], memory[3:6], floors, bounds, (turns, never, never)), strict=True
    ):
        departures.append([])
        out_of_bounds.append([])
        usual_changes.append([])
        for x1, x0, u, lowest_limit, largest, n, period in zip(
            *(x, before, mean, floor, bound, values['sigmas'], periods), strict=True
        ):
            change = magnitude(x1 - x0)
            if period < math.inf:
                change = smaller(change, magnitude(period - change))
            limit = larger(lowest_limit, n * u)
            departures[-1].append(where_less(limit, change, 1.0, 0.0))
            out_of_bounds[-1].append(where_less(largest, magnitude(x1), 1.0, 0.0))
            usual_changes[-1].append(u + CHANGE_WEIGHT * (smaller(change, 2.0 * limit) - u))
            excess = larger(excess, larger(change - limit, magnitude(x1) - largest))
    unchanged, longest_unchanged = [], []
    for x1, x0, count, longest_before in zip(effort, *memory[2:3], *memory[6:], strict=True):
        change = magnitude(x1 - x0)
        unchanged.append(where_less(0.0, change, 0.0, count + 1.0))
        longest_unchanged.append(
            where_less(0.0, change, larger(count, DECAY * longest_before), longest_before)
        )
    return (
        departures,
        out_of_bounds,
        excess,
        [*sample, *usual_changes, unchanged, longest_unchanged],
    )
