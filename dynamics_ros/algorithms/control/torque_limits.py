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
    sent = []
    for wanted, before, rate in zip(tau, last, rates, strict=True):
        step = dt * where_less(abs(rate), LARGEST, at_least(rate, 0.0), NOMINAL_RATE)
        sent.append(between(wanted, before - step, before + step))
    return sent


def _effort_limits(model: Model) -> list[float]:
    """Of each velocity, infinite where the description has none."""
    limits = [math.inf] * model.nv
    for joint in model.joints:
        for k in joint.v_indices if joint.leader is None else ():
            limits[k] = joint.limits.effort
    return limits
