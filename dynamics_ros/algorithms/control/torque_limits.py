# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Torques and torque rates that are bounded whatever was asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dynamics_ros.model import Model
from dynamics_ros.spatial import Scalar
from dynamics_ros.spatial.scalar import where_less

from .validity import LARGEST, at_least, at_most, between

Values = Sequence[Scalar]

NOMINAL_RATE = 1000.0
"""Nm/s or N/s: in place of a torque rate that is no number."""

LEAST_PART = 0.1
"""Of a torque step, what the posture has in any case: it must not lose its dampers to a tool whose
torques change at their limits for long."""

NO_CHANGE = 1e-12
"""Nm or N: less than this is no change of a torque."""


def largest_torques(model: Model, limits: Values, last: Values) -> list[Scalar]:
    """The largest torque of each velocity (nv): a limit, and the effort of the description.

    Args:
        model: the robot.
        limits: (nv) [Nm or N]; the last torque takes the place of one that is no number.
        last: torques that were sent before (nv), finite.
    """
    largest = []
    for limit, before, effort in zip(limits, last, _effort_limits(model), strict=True):
        most = where_less(abs(limit), LARGEST, at_least(limit, 0.0), abs(before))
        largest.append(at_most(most, effort) if math.isfinite(effort) else most)
    return largest


def within(tau: Values, largest: Values) -> list[Scalar]:
    """Torques of at most these sizes."""
    return [between(x, -most, most) for x, most in zip(tau, largest, strict=True)]


def limited_rates(tau: Values, last: Values, rates: Values, dt: Scalar) -> list[Scalar]:
    """Torques that are no further from the last ones than their rates allow.

    Args:
        tau, last: wanted, and sent before (nv), finite.
        rates: (nv) [Nm/s or N/s]; ``NOMINAL_RATE`` in place of one that is no number.
        dt: since the last ones [s].
    """
    return [
        between(wanted, before - step, before + step)
        for wanted, before, step in zip(tau, last, largest_steps(rates, dt), strict=True)
    ]


def largest_steps(rates: Values, dt: Scalar) -> list[Scalar]:
    """By how much torques may change at once; arguments as of `limited_rates`."""
    return [
        dt * where_less(abs(rate), LARGEST, at_least(rate, 0.0), NOMINAL_RATE) for rate in rates
    ]


def share_beside(first: Values, second: Values, steps: Values) -> Scalar:
    """The share of a change of torques that its rates allow beside another change.

    One share of all joints, as limits joint by joint would turn the change into another direction.

    Args:
        first: change that counts more (nv).
        second: the change that is to be shared (nv).
        steps: largest changes (nv).
    """
    share: Scalar = 1.0
    for taken, wanted, step in zip(first, second, steps, strict=True):
        left = at_least(step - abs(taken), LEAST_PART * step)
        share = at_most(left / at_least(abs(wanted), NO_CHANGE), share)
    return share


def _effort_limits(model: Model) -> list[float]:
    """Of each velocity, infinite where the description has none."""
    limits = [math.inf] * model.nv
    for joint in model.joints:
        for k in joint.v_indices if joint.leader is None else ():
            limits[k] = joint.limits.effort
    return limits
