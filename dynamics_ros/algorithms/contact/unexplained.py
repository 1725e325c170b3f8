# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a model of masses and friction leaves unexplained of external torques, by what is known.

The deviation of a joint without contact is taken to be

    s^2 = constant^2 + (speed v)^2 + (load tau)^2 + (reversal w)^2

with w near 1 where the joint turns round, or has a moment ago: there friction changes its sign, at
a time and in a way that the model does not know, and an observer shows it for as long as its filter
lasts. It falls with the square of the speed: how friction rises, and falls again, as a joint begins
to slide is not known either. A joint that has stood still for a while is held by friction of any
size up to ``standing``, which is a bound and no deviation; it counts as a deviation of standing /
sqrt(3), that of an even distribution.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import exp, sqrt, where_less

Values = Sequence[Scalar]

ROWS = ('constant', 'speed', 'load', 'reversal', 'standing')
"""What is known of each joint."""

SLOW = 0.02
"""rad/s or m/s: a joint that is slower is near a reversal, or stands."""

FADING = 0.05
"""s in which what a reversal leaves fades."""

STANDS_AFTER = 0.1
"""s below ``SLOW`` after which a joint stands."""

MEMORY = 3
"""Rows that a step hands to the next: velocity, w, time below ``SLOW`` [s]."""


def turning(
    v: Scalar, before: Scalar, share: Scalar, still: Scalar, interval: Scalar
) -> tuple[Scalar, Scalar]:
    """The share w of a reversal, and for how long the joint has been slow [s].

    Args:
        v: velocity [rad/s or m/s].
        before: of the sample before.
        share: w then.
        still: time below ``SLOW`` then [s].
        interval: since then [s].
    """
    near = 1.0 / (1.0 + square(v / SLOW))
    # It may turn between two samples.
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
    """The deviation of external torques without contact, and how far they may be off.

    Args:
        v: (nv) velocity.
        load: (nv) torque that the joint carries without a contact [Nm or N].
        memory: (MEMORY, nv) of the sample before.
        interval: since then [s].
        rows: (5, nv) as in ``ROWS``; constant with the noise of the observer.
        sigmas: (nv) deviations that are a contact.

    Returns:
        (nv) deviations; (nv) what thresholds of ``sigmas * constant`` rise by; memory (MEMORY, nv).
    """
    deviations, more, shares, stills = [], [], [], []
    for x, tau, s, last, share, slow, constant, speed, by_load, reversal, standing in zip(
        v, load, sigmas, *memory, *rows, strict=True
    ):
        w, still = turning(x, last, share, slow, interval)
        variance = constant * constant + square(speed * x) + square(by_load * tau)
        variance = variance + square(reversal * w)
        bound = where_less(still, STANDS_AFTER, 0.0, standing)
        deviations.append(sqrt(variance + bound * bound / 3.0))
        more.append(s * (sqrt(variance) - constant) + bound)
        shares.append(w)
        stills.append(still)
    return deviations, more, [list(v), shares, stills]


def square(x: Scalar) -> Scalar:
    """x^2."""
    return x * x
