# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How fast each joint may go now, so that no limit is ever passed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_positive, per_entry
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

Array = NDArray[np.float64]

POSITION, VELOCITY, ACCELERATION = 'position', 'velocity', 'acceleration'

AT_BOUND = 1e-9
"""Distance from a bound, relative to 1 plus the velocity, that counts as at it."""


FAR = 1e9
"""A limit farther away than this [rad or m] is none; infinity is no number to compute with."""


class Bounds(NamedTuple):
    """Of the next velocity, (nv) each.

    Attributes:
        lower, upper: what all limits together leave.
        ahead, behind: fastest towards the upper and the lower position limit, as speeds.
    """

    lower: Array
    upper: Array
    ahead: Array
    behind: Array


class Limits:
    """Bounds on the next velocity from limits on position, velocity and acceleration.

    Position: the joint keeps so slow that it goes no more than a share of its way to the limit in
    a step, and where accelerations are limited, that it can still brake before it (a velocity is
    then viable: after a step with it and braking at a, the way v dt + v^2 / (2 a) is within what is
    left). A joint that is beyond its limit is led back. Where the demands contradict each other
    (a joint that is thrown towards its limit) position comes before acceleration.

    Attributes:
        margin: (n) distance that is kept from the position limits [rad or m].
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        *,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        margin: ArrayLike = 0.0,
        approach: float = 0.5,
    ) -> None:
        """Limits of a robot's joints; a floating or planar base has none.

        Args:
            robot: whose position and velocity limits hold.
            velocity: one number or (nv less the base), in place of those of the description; inf
                for none [rad/s or m/s].
            acceleration: the same [rad/s^2 or m/s^2]; None is none.
            margin: one number or one each, kept from the position limits [rad or m].
            approach: largest share of the way to a limit in one step, above 0 and at most 1.
        """
        check_positive('approach', approach)
        if approach > 1.0:
            raise InvalidArgumentError('approach', f'{approach}', 'above 0 and at most 1')
        base = robot.model.root_joint_nv
        count = robot.nv - base
        self._approach = approach
        fastest = robot.velocity_limits if velocity is None else velocity
        self._velocity = _positive('velocity', fastest, count)
        sharpest = np.inf if acceleration is None else acceleration
        self._acceleration = _positive('acceleration', sharpest, count)
        self._accelerates = bool(np.isfinite(self._acceleration).any())
        single = [
            (robot.joint_q_indices[name], robot.joint_v_indices[name])
            for name in robot.joint_names
            if name in robot.joint_q_indices
        ]
        self._q = np.array([q for q, _ in single], dtype=np.intp)
        self._v = np.array([v for _, v in single], dtype=np.intp)
        nq_base = robot.model.root_joint_nq
        self.margin = per_entry('margin', margin, len(single), least=0.0)
        self._lower = robot.lower_limits[self._q - nq_base] + self.margin
        self._upper = robot.upper_limits[self._q - nq_base] - self.margin
        if (self._lower > self._upper).any():
            narrow = robot.joint_names[int(np.argmax(self._lower - self._upper))]
            raise InvalidArgumentError('margin', f'leaves nothing of {narrow!r}', 'smaller ones')
        self._base, self._nv = base, robot.nv
        self._fastest_of_single = self._velocity[self._v - base]
        self._acceleration_of_single = self._acceleration[self._v - base]

    def bounds(self, q: Array, dt: float, last: Array | None) -> Bounds:
        """What the next velocity has to keep to.

        Args:
            q: (nq).
            dt: s, how long that velocity will hold.
            last: (nv) the velocity before; without one accelerations are not looked at.
        """
        fastest = np.full(self._nv, np.inf)
        fastest[self._base :] = self._velocity
        behind, ahead = np.full((2, self._nv), np.inf)
        there = q[self._q]
        ways = np.array([self._upper - there, there - self._lower])
        ahead[self._v], behind[self._v] = self._reachable(ways, dt)
        if not self._accelerates or last is None:
            lower, upper = np.maximum(-fastest, -behind), np.minimum(fastest, ahead)
            return Bounds(np.minimum(lower, ahead), np.maximum(upper, -behind), ahead, behind)
        reach = np.full(self._nv, np.inf)
        reach[self._base :] = self._acceleration * dt
        # What is clipped last holds in any case.
        lower = np.minimum(np.maximum(last - reach, -fastest), fastest)
        upper = np.minimum(np.maximum(last + reach, -fastest), fastest)
        lower = np.minimum(np.maximum(lower, -behind), ahead)
        upper = np.minimum(np.maximum(upper, -behind), ahead)
        return Bounds(lower, upper, ahead, behind)

    def binding(self, bounds: Bounds, v: Array) -> dict[int, str]:
        """Index into v (nv) of what is at a bound, to the kind of limit that sets it."""
        slack = AT_BOUND * (1.0 + np.abs(v))
        at = (v >= bounds.upper - slack) | (v <= bounds.lower + slack)
        if not at.any():
            return {}
        near_end = (v >= bounds.ahead - slack) | (v <= slack - bounds.behind)
        found = {}
        for i in np.flatnonzero(at).tolist():
            full = abs(v[i]) >= self._velocity[i - self._base] - slack[i]
            found[i] = VELOCITY if full else POSITION if near_end[i] else ACCELERATION
        return found

    def _reachable(self, ways: Array, dt: float) -> Array:
        """Fastest speeds (2, n) towards limits that are so far away; negative beyond them."""
        speeds = (self._approach / dt) * ways
        if self._accelerates:
            # v of v dt + v^2 / (2 a) = way, without the difference of two large numbers.
            left = np.minimum(np.maximum(ways, 0.0), FAR)
            root = np.sqrt(dt * dt + 2.0 * left / self._acceleration_of_single)
            speeds = np.minimum(speeds, 2.0 * left / (root + dt))
            # From beyond a limit back, a start from rest within what is allowed.
            speeds = np.maximum(speeds, -self._acceleration_of_single * dt)
        return np.maximum(np.minimum(speeds, self._fastest_of_single), -self._fastest_of_single)


def _positive(argument: str, value: ArrayLike, size: int) -> Array:
    entries = per_entry(argument, value, size, least=0.0, infinite=True)
    if (entries == 0.0).any():
        raise InvalidArgumentError(argument, 'zero', 'positive numbers, or inf for no limit')
    return entries
