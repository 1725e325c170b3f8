# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Avoidance of joint position limits: a repulsive potential, and a control barrier as guard."""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar

from .validity import at_least, at_most

Values = Sequence[Scalar]

SWEEPS = 3
"""Number of Gauss-Seidel sweeps over all joints in `braked`."""

GUARD_SHARE = 0.25
"""Upper limit of the guard's rate times the interval. The guard is a critically damped spring, and
unstable with a step of half its time constant."""


def ranged(model: Model) -> list[tuple[int, int]]:
    """Indices in v and in q of each joint that can have limits: one coordinate, no mimic joint."""
    return [
        (joint.v_indices[0], joint.q_indices[0])
        for joint in model.joints
        if joint.leader is None and joint.kind.nq == 1 and joint.kind.nv == 1
    ]


def limit_torques(
    model: Model, q: Values, lower: Values, upper: Values, margin: Values, stiffness: Values
) -> list[Scalar]:
    """Torques (nv) of the potential 1/2 k d^2; d is the distance by which q is inside the margin.

    Args:
        model: the robot.
        q: configuration (nq).
        lower, upper, margin: (nv) position limits, and width of the margin inside them [rad or m].
        stiffness: (nv) k. Values of joints with more than one coordinate are not read.
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
    """Additional torques (nv) that brake joints before their position limits.

    The distance h to a limit must not decrease faster than that of a critically damped oscillator
    that comes to rest there: h-ddot >= -2 rate h-dot - rate^2 h, an exponential control barrier
    ([Ames2019]). The barrier does not know external loads. For a joint with very small inertia it
    therefore also limits torques that only balance a load, if they exceed rate^2 h times the
    inertia. A steeper barrier would not, but it would oscillate with limited torques and torque
    rates.

    Joints are processed one after the other, because the torque of one accelerates the others.

    Args:
        model: the robot.
        q, v: state (nq), (nv).
        a: desired accelerations (nv).
        M_inverse: (nv, nv) inverse of the mass matrix.
        range_of: lower limits, upper limits [rad or m] and rates [1/s], (nv) each.
        interval: control interval [s].
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
