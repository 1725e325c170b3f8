# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Standard deviation of external torques without contact, due to errors of the robot's model.

The deviation s of a joint is modelled by

    s^2 = constant^2 + (speed v)^2 + (load tau)^2 + (reversal w)^2
          + (beyond max(|v| - fastest, 0))^2.

The weight w is 1 when the velocity of the joint changes its sign and decays afterwards: friction
changes its sign at a time and in a way that the friction model does not describe, and the
observer's filter extends the error in time. At low speeds w is at least 1 / (1 + (v / SLOW)^2),
because the friction of a joint that starts to slide is not modelled well. The model is known up to
the speed ``fastest``; above it, the error of viscous friction grows with the speed. Friction of a
joint at rest can have any value up to ``standing``. This is a bound, not a deviation; it counts as
the deviation standing / sqrt(3) of a uniform distribution.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp, larger, magnitude, sqrt, where_less

Values = Sequence[Scalar]

ROWS = ('constant', 'speed', 'load', 'reversal', 'standing', 'fastest', 'beyond')
"""Rows of the parameters of the deviation, one value per joint."""

SLOW = 0.02
"""Speed below which a joint is near a reversal or at rest [rad/s or m/s]."""

FADING = 0.05
"""Time constant of the decay of w after a reversal [s]."""

STANDS_AFTER = 0.1
"""Time below the speed ``SLOW`` after which a joint counts as at rest [s]."""

MEMORY = 3
"""Rows of the memory of a step: velocity, w, time below the speed ``SLOW`` [s]."""


def turning(
    v: Scalar, before: Scalar, share: Scalar, still: Scalar, interval: Scalar
) -> tuple[Scalar, Scalar]:
    """Update the weight w of a reversal and the time below the speed ``SLOW`` [s] of one joint.

    Args:
        v: velocity [rad/s or m/s].
        before: velocity at the previous sample.
        share: w at the previous sample.
        still: time below the speed ``SLOW`` at the previous sample [s].
        interval: time since the previous sample [s].
    """
    near = 1.0 / (1.0 + square(v / SLOW))
    # The velocity may have changed its sign between two samples.
    near = where_less(v * before, 0.0, 1.0, near)
    faded = share * exp(-(interval / FADING))
    speed = where_less(v, 0.0, -v, v)
    return where_less(faded, near, near, faded), where_less(speed, SLOW, still + interval, 0.0)


def unexplained_torque(
    v: Values,
    load: Values,
    memory: Sequence[Values],
    interval: Scalar,
    rows: Sequence[Values],
    sigmas: Values,
) -> tuple[list[Scalar], list[Scalar], list[list[Scalar]]]:
    """Compute the deviation of external torques without contact, and the increase of thresholds.

    Args:
        v: (nv) velocity [rad/s or m/s].
        load: (nv) torque that the joint transmits without contact [Nm or N].
        memory: (MEMORY, nv) after the previous sample.
        interval: time since the previous sample [s].
        rows: (7, nv) as in ``ROWS``; ``constant`` includes the noise of the observer.
        sigmas: (nv) number of deviations above which a torque counts as contact.

    Returns:
        Deviations (nv); increase (nv) of thresholds of ``sigmas * constant``; the memory
        (MEMORY, nv) for the next step.
    """
    deviations, increases, weights, slow_times = [], [], [], []
    for x, tau, s, last, share, slow, *row in zip(v, load, sigmas, *memory, *rows, strict=True):
        constant, speed, load_factor, reversal, standing, fastest, beyond = row
        w, still = turning(x, last, share, slow, interval)
        variance = constant * constant + square(speed * x) + square(load_factor * tau)
        variance = variance + square(reversal * w)
        variance = variance + square(beyond * larger(magnitude(x) - fastest, 0.0))
        bound = where_less(still, STANDS_AFTER, 0.0, standing)
        deviations.append(sqrt(variance + bound * bound / 3.0))
        increases.append(s * (sqrt(variance) - constant) + bound)
        weights.append(w)
        slow_times.append(still)
    return deviations, increases, [list(v), weights, slow_times]


def square(x: Scalar) -> Scalar:
    """x^2."""
    return x * x
