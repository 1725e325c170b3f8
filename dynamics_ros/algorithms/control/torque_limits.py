# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of torques and torque rates that hold for all inputs, valid or not."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import where_less

from .validity import LARGEST, at_least, at_most, between

Values = Sequence[Scalar]

NOMINAL_RATE = 1000.0
"""Torque rate that replaces an invalid one [Nm/s or N/s]."""

MIN_PART = 0.1
"""Fraction of a torque step that is reserved for torques that do not move the tool. The damping of
the posture must not vanish while torques of the tool change at their limit for a long time."""

NO_CHANGE = 1e-12
"""Smallest change of a torque that counts [Nm or N]."""


def largest_torques(model: Model, limits: Values, last: Values) -> list[Scalar]:
    """Largest torques (nv): the smaller of a limit and the effort limit of the robot description.

    Args:
        model: the robot.
        limits: (nv) [Nm or N]; an invalid limit is replaced by the last torque.
        last: torques of the previous step (nv), finite.
    """
    largest = []
    for limit, before, effort in zip(limits, last, _effort_limits(model), strict=True):
        bound = where_less(abs(limit), LARGEST, at_least(limit, 0.0), abs(before))
        largest.append(at_most(bound, effort) if math.isfinite(effort) else bound)
    return largest


def within(tau: Values, largest: Values) -> list[Scalar]:
    """Torques (nv), limited to the given magnitudes."""
    return [between(x, -bound, bound) for x, bound in zip(tau, largest, strict=True)]


def limited_rates(tau: Values, last: Values, rates: Values, dt: Scalar) -> list[Scalar]:
    """Torques (nv), limited to the change since the last step that the rates allow.

    Args:
        tau, last: desired torques, and torques of the previous step (nv), finite.
        rates: (nv) largest rates [Nm/s or N/s]; an invalid rate is replaced by ``NOMINAL_RATE``.
        dt: time since the previous step [s].
    """
    return [
        between(wanted, before - step, before + step)
        for wanted, before, step in zip(tau, last, largest_steps(rates, dt), strict=True)
    ]


def largest_steps(rates: Values, dt: Scalar) -> list[Scalar]:
    """Largest changes of torques in one step (nv); arguments as for `limited_rates`."""
    return [
        dt * where_less(abs(rate), LARGEST, at_least(rate, 0.0), NOMINAL_RATE) for rate in rates
    ]


def share_beside(first: Values, second: Values, steps: Values) -> Scalar:
    """Factor for a change of torques that the limits allow in addition to another change.

    All joints have the same factor, because separate limits would change the direction of the
    torques.

    Args:
        first: change with priority (nv).
        second: change that is scaled (nv).
        steps: largest changes (nv).

    Returns:
        A factor up to 1; it is 1 if the sum of both changes is within the limits.
    """
    share: Scalar = 1.0
    for used, wanted, step in zip(first, second, steps, strict=True):
        used_along = where_less(wanted, 0.0, -used, used)
        remaining = at_least(step - used_along, MIN_PART * step)
        share = at_most(remaining / at_least(abs(wanted), NO_CHANGE), share)
    return share


def _effort_limits(model: Model) -> list[float]:
    """Effort limit of each velocity; infinite if the description has none."""
    limits = [math.inf] * model.nv
    for joint in model.joints:
        for k in joint.v_indices if joint.leader is None else ():
            limits[k] = joint.limits.effort
    return limits
