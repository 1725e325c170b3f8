# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contact thresholds in motion: deviation of external torques without contact, by model errors.

The deviation s of a joint is modelled by

    s^2 = constant^2 + (speed v)^2 + (load tau)^2 + (reversal w)^2.

The weight w is 1 when the velocity of the joint changes its sign and decays afterwards: friction
changes its sign at a time and in a way that the friction model does not describe, and the
observer's filter extends the error in time. At low speeds w is at least 1 / (1 + (v / slow)^2),
because the friction of a joint that starts to slide is not modelled well. It is 1 when a joint
leaves standstill. While a joint rests, w fades: its friction then is that of standstill, which can
have any value up to ``standing``. This is a bound, not a deviation; it counts as the deviation
standing / sqrt(3) of a uniform distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.quantity import Input, PerVelocity, V, Values, quantity
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp, larger, magnitude, smaller, sqrt, where_less

ROWS = ('constant', 'speed', 'load', 'reversal', 'standing', 'slow')
"""Rows of the parameters of the deviation, one value per joint."""

SLOW = 0.02
"""Speed below which a joint is near a reversal or at rest [rad/s]."""

FADING = 0.05
"""Time constant of the decay of w after a reversal [s]."""

STANDS_AFTER = 0.1
"""Time below the speed ``slow`` after which a joint counts as at rest [s]."""

RESTING = 0.1
"""Time constant with which w fades at rest, and of the mean velocity [s]."""

CREEPING = 0.2
"""Mean speed over ``slow`` from which a joint creeps, so that its w does not fade."""

UNWATCHED = 1e300
"""Threshold of a joint that is not monitored; finite, because kernels reject infinite inputs."""

MEMORY = 4
"""Rows of the memory of a step: velocity, w, time below the speed ``slow`` [s], mean velocity."""


def turning(
    v: Scalar, memory: Values, interval: Scalar, slow: Scalar
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Update the memory of one joint, whose second and third entries are w and the time at rest.

    Args:
        v: velocity [rad/s or m/s].
        memory: entries (MEMORY) after the previous sample.
        interval: time since the previous sample [s].
        slow: speed below which the joint is near a reversal or at rest.
    """
    before, share, still, mean = memory
    speed = magnitude(v)
    mean = v + (mean - v) * exp(-(interval / RESTING))
    near = 1.0 / (1.0 + square(v / slow))
    # The velocity may have changed its sign between two samples.
    near = where_less(v * before, 0.0, 1.0, near)
    resting = exp(-(larger(still - STANDS_AFTER, 0.0) / RESTING))
    near = near * smaller(larger(resting, square(mean / (CREEPING * slow))), 1.0)
    # A joint that leaves standstill may have slid since the previous sample.
    near = where_less(speed, slow, near, where_less(0.0, still, 1.0, near))
    w = larger(near, share * exp(-(interval / FADING)))
    return v, w, where_less(speed, slow, still + interval, 0.0), mean


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

    A threshold is a constant plus a coefficient times the speed of the joint [Haddadin2017], plus
    ``sigmas`` times the increase of the deviation and the bound of friction at rest.

    Args:
        external_torque: (nv) external torques [Nm or N].
        v: (nv) velocity [rad/s or m/s].
        load: (nv) torque that the joint transmits without contact [Nm or N].
        memory: (MEMORY, nv) after the previous sample.
        interval: time since the previous sample [s].
        rows: (6, nv) as in ``ROWS``; ``constant`` includes the noise of the observer. Without a
            calibration zeros, but for ``slow``.
        sigmas: (nv) number of deviations above which a torque counts as contact.
        constants: rows of (nv) thresholds at rest [Nm or N].
        velocity_term: (nv) increase of a threshold per speed.

    Returns:
        Deviations (nv); the increase of the thresholds by the motion (nv); for each row of
        ``constants`` (nv) flags, 1 where |torque| exceeds the threshold, else 0; the largest
        |torque| - threshold of all; the memory (MEMORY, nv) for the next state.
    """
    deviations, increases, memories = [], [], []
    for x, tau, s, term, last, *row in zip(
        v, load, sigmas, velocity_term, zip(*memory, strict=True), *rows, strict=True
    ):
        constant, speed, load_factor, reversal, standing, slow = row
        memories.append(turning(x, last, interval, slow))
        _, w, still, _ = memories[-1]
        variance = constant * constant + square(speed * x) + square(load_factor * tau)
        variance = variance + square(reversal * w)
        bound = where_less(still, STANDS_AFTER, 0.0, standing)
        deviations.append(sqrt(variance + bound * bound / 3.0))
        increases.append(term * magnitude(x) + (s * (sqrt(variance) - constant) + bound))
    largest: Scalar = -UNWATCHED
    exceeded = []
    for thresholds in constants:
        flags = []
        for value, constant, increase in zip(external_torque, thresholds, increases, strict=True):
            excess = magnitude(value) - (constant + increase)
            flags.append(where_less(0.0, excess, 1.0, 0.0))
            largest = where_less(largest, excess, excess, largest)
        exceeded.append(flags)
    return deviations, increases, exceeded, largest, [list(row) for row in zip(*memories)]


def square(x: Scalar) -> Scalar:
    """x^2."""
    return x * x
