# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far a sample of joint states departs from the one before it, in what is usual for each joint.

The usual change u of a value x is the mean of the magnitudes of its changes, over some fifty
samples, a single one counting at most twice the limit of that moment:

    d = |x_1 - x_0|,   limit = max(floor, sigmas u_0),   u_1 = u_0 + SHARE (min(d, 2 limit) - u_0).

A departure is a change above the limit. Whether it is an outlier, the next sample tells (a median
of three, [Hampel1974] for the scale): see ``estimation/samples/sample_filter.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import larger, magnitude, smaller, where_less

Values = Sequence[Scalar]

SHARE = 0.02
"""Weight of the newest change in the usual one."""

FADING = 0.99
"""Of the longest time without a change of the effort, what is left after another change."""

CLOCK = 2e-3
"""s; stamps tell the time between two positions to this."""

QUANTITIES = ('position', 'velocity', 'effort')

MEMORY = 8
"""Rows of what a sample hands to the next: position, velocity, effort, the usual change of each,
for how many samples the effort has not changed at all, and for how many it usually does not."""

SETTINGS = (
    *('sigmas', 'speed', 'velocity_floor', 'effort_floor'),
    *('position_bound', 'velocity_bound', 'effort_bound'),
)
"""Rows of the settings, one value a velocity each. speed: that a position may change with; the
bounds: largest magnitudes that are taken at all."""


def sample_departure(
    model: Model,
    q: Values,
    v: Values,
    effort: Values,
    memory: Sequence[Values],
    interval: Scalar,
    settings: Sequence[Values],
) -> tuple[list[list[Scalar]], list[list[Scalar]], Scalar, list[list[Scalar]]]:
    """Hold a sample against the one before it.

    Args:
        model: the robot; positions are those of its joints of one coordinate.
        q, v, effort: the sample.
        memory: (MEMORY, nv) of the sample before.
        interval: time since then [s].
        settings: (7, nv), rows as in ``SETTINGS``.

    Returns:
        (3, nv) 1 where position, velocity, effort depart; (3, nv) 1 where they are beyond their
        bounds; how far the worst of all is above its limit, not above zero where none is; the
        memory for the next sample if this one is taken.
    """
    values = dict(zip(SETTINGS, settings, strict=True))
    sample = [positions(model, q), list(v), list(effort)]
    floors = [
        [(interval + CLOCK) * speed for speed in values['speed']],
        values['velocity_floor'],
        values['effort_floor'],
    ]
    bounds = [values[f'{quantity}_bound'] for quantity in QUANTITIES]
    excess: Scalar = -1.0
    departs: list[list[Scalar]] = []
    beyond: list[list[Scalar]] = []
    usual: list[list[Scalar]] = []
    for x, before, mean, floor, bound in zip(
        sample, memory[:3], memory[3:6], floors, bounds, strict=True
    ):
        departs.append([])
        beyond.append([])
        usual.append([])
        for x1, x0, u, least, most, n in zip(
            x, before, mean, floor, bound, values['sigmas'], strict=True
        ):
            change = magnitude(x1 - x0)
            limit = larger(least, n * u)
            departs[-1].append(where_less(limit, change, 1.0, 0.0))
            beyond[-1].append(where_less(most, magnitude(x1), 1.0, 0.0))
            usual[-1].append(u + SHARE * (smaller(change, 2.0 * limit) - u))
            excess = larger(excess, larger(change - limit, magnitude(x1) - most))
    same, longest = [], []
    for x1, x0, count, usually in zip(effort, *memory[2:3], *memory[6:], strict=True):
        change = magnitude(x1 - x0)
        same.append(where_less(0.0, change, 0.0, count + 1.0))
        longest.append(where_less(0.0, change, larger(count, FADING * usually), usually))
    return departs, beyond, excess, [*sample, *usual, same, longest]


def positions(model: Model, q: Values) -> list[Scalar]:
    """(nv) coordinates of the joints of one; 0 for what a moving base has."""
    found: list[Scalar] = [0.0] * model.nv
    for joint in model.actuated:
        if len(joint.q_indices) == 1:
            found[joint.v_indices[0]] = q[joint.q_indices[0]]
    return found
