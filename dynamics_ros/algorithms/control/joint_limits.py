# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints are kept within their range: by a potential before its ends, by a guard at them."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

from .validity import at_least, at_most

Values = Sequence[Scalar]

SWEEPS = 3
"""Over all joints, each of which brakes against what the others have done."""

GUARD_SHARE = 0.25
"""Most of its rate times the interval: the guard is a critically damped spring, which a step of
half its time constant would make unstable."""


def ranged(model: Model) -> list[tuple[int, int]]:
    """Place in v and in q of every joint that can have a range: those of one coordinate."""
    return [
        (joint.v_indices[0], joint.q_indices[0])
        for joint in model.joints
        if joint.leader is None and joint.kind.nq == 1 and joint.kind.nv == 1
    ]


def limit_torques(
    model: Model, q: Values, lower: Values, upper: Values, margin: Values, stiffness: Values
) -> list[Scalar]:
    """Of the potential 1/2 k d^2, where d is how far a joint is within the margin before an end.

    Args:
        model: the robot.
        q: its configuration.
        lower, upper, margin, stiffness: (nv); joints without a range are not read.
    """
    tau: list[Scalar] = [0.0] * model.nv
    for k, place in ranged(model):
        above = at_least(lower[k] + margin[k] - q[place], 0.0)
        below = at_least(q[place] - upper[k] + margin[k], 0.0)
        tau[k] = stiffness[k] * (above - below)
    return tau


def braked(
    model: Model,
    q: Values,
    v: Values,
    a: Values,
    M_inverse: Sequence[Values],
    range_of: tuple[Values, Values, Values],
    interval: Scalar,
) -> list[Scalar]:
    """Torques (nv) to add so that no joint passes an end of its range where it can brake.

    The distance h to an end must not decay faster than a critically damped oscillator comes to
    rest there: h-ddot >= -2 rate h-dot - rate^2 h, an exponential control barrier ([Ames2019]).
    Loads are not known to it: of a joint that moves next to no inertia it limits even torques that
    only balance one, from rate^2 h times that inertia on. A steeper barrier would not, but it would
    oscillate with torques that are limited in size and rate.

    Each joint brakes with its own motor, one after the other, as joints lean on each other.

    Args:
        model: the robot.
        q, v: its state.
        a: accelerations that are wanted.
        M_inverse: (nv, nv) what torques do to them.
        range_of: lower end, upper end [rad or m] and rate [1/s], (nv) each.
        interval: between two steps [s].
    """
    lower, upper, rate = range_of
    reached = list(a)
    added: list[Scalar] = [0.0] * model.nv
    for k, place in ranged(model) * SWEEPS:
        gain = at_most(at_least(rate[k], 0.0), GUARD_SHARE / interval)
        damping = 2.0 * gain * v[k]
        allowed = at_least(reached[k], gain * gain * (lower[k] - q[place]) - damping)
        allowed = at_most(allowed, gain * gain * (upper[k] - q[place]) - damping)
        torque = (allowed - reached[k]) / M_inverse[k][k]
        added[k] = added[k] + torque
        reached = [x + torque * row[k] for x, row in zip(reached, M_inverse, strict=True)]
    return added
