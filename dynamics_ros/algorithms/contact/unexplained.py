# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Standard deviation of external torques without contact, due to errors of the robot's model.

The deviation s of a joint is modelled by

    s^2 = constant^2 + (speed v)^2 + (load tau)^2 + (reversal w)^2
          + (beyond max(|v| - fastest, 0))^2.

The weight w is 1 when the velocity of the joint changes its sign and decays afterwards: friction
changes its sign at a time and in a way that the friction model does not describe, and the
observer's filter extends the error in time. At low speeds w is at least 1 / (1 + (v / slow)^2),
because the friction of a joint that starts to slide is not modelled well. It is 1 when a joint
leaves standstill. While a joint rests, w fades: its friction then is that of standstill, below. The
model is known up to
the speed ``fastest``; above it, the error of viscous friction grows with the speed. Friction of a
joint at rest can have any value up to ``standing``. This is a bound, not a deviation; it counts as
the deviation standing / sqrt(3) of a uniform distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dynamics_ros.algorithms.quantity import Input, PerVelocity, V, quantity
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp, larger, magnitude, smaller, sqrt, where_less

Values = Sequence[Scalar]

ROWS = ('constant', 'speed', 'load', 'reversal', 'standing', 'fastest', 'beyond', 'slow')
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
    'how far external torques without contact may be off at this speed, load and reversal',
    {
        'deviation': 'of each external torque',
        'more': 'what thresholds rise by, torques',
        'next_memory': 'for the next state',
    },
    internal=True,
)
def unexplained_torque(
    v: V,
    load: PerVelocity,
    memory: Annotated[Sequence[Values], Input(MEMORY, 'nv')],
    interval: Scalar,
    rows: Annotated[Sequence[Values], Input(len(ROWS), 'nv')],
    sigmas: PerVelocity,
) -> tuple[list[Scalar], list[Scalar], list[list[Scalar]]]:
    """Compute the deviation of external torques without contact, and the increase of thresholds.

    Args:
        v: (nv) velocity [rad/s or m/s].
        load: (nv) torque that the joint transmits without contact [Nm or N].
        memory: (MEMORY, nv) after the previous sample.
        interval: time since the previous sample [s].
        rows: (8, nv) as in ``ROWS``; ``constant`` includes the noise of the observer.
        sigmas: (nv) number of deviations above which a torque counts as contact.

    Returns:
        Deviations (nv); increase (nv) of thresholds of ``sigmas * constant``; the memory
        (MEMORY, nv) for the next step.
    """
    deviations, increases, memories = [], [], []
    for x, tau, s, last, *row in zip(
        v, load, sigmas, zip(*memory, strict=True), *rows, strict=True
    ):
        constant, speed, load_factor, reversal, standing, fastest, beyond, slow = row
        memories.append(turning(x, last, interval, slow))
        _, w, still, _ = memories[-1]
        variance = constant * constant + square(speed * x) + square(load_factor * tau)
        variance = variance + square(reversal * w)
        variance = variance + square(beyond * larger(magnitude(x) - fastest, 0.0))
        bound = where_less(still, STANDS_AFTER, 0.0, standing)
        deviations.append(sqrt(variance + bound * bound / 3.0))
        increases.append(s * (sqrt(variance) - constant) + bound)
    return deviations, increases, [list(row) for row in zip(*memories, strict=True)]


def square(x: Scalar) -> Scalar:
    """x^2."""
    return x * x
