# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Velocity bounds of a step that keep position, velocity and acceleration limits."""

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
"""Distance from a bound, relative to 1 plus the velocity, at which the bound counts as active."""


MAX_DISTANCE = 1e9
"""Largest distance to a position limit in computations, instead of infinity [rad or m]."""


class Bounds(NamedTuple):
    """Bounds of the next velocity, (nv) each [rad/s or m/s].

    Attributes:
        lower, upper: bounds from all limits.
        ahead, behind: largest speeds towards the upper and the lower position limit.
    """

    lower: Array
    upper: Array
    ahead: Array
    behind: Array


class Limits:
    """Bounds of the next velocity from limits of position, velocity and acceleration.

    In one step a joint moves at most a given fraction of its distance to the position limit. With
    acceleration limits it must also be able to stop before the limit: the distance v dt + v^2 / (2
    a) of a step at v and braking at a must not exceed the distance to the limit. A joint beyond its
    limit is moved back. If the limits contradict each other, for example for a joint that moves
    fast close to its limit, position limits have priority over acceleration limits.

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
        """Set up the limits of a robot's joints; a floating or planar base has no limits.

        Args:
            robot: the robot with its position and velocity limits.
            velocity: one number, or one per velocity without the base, instead of the limits of the
                description; inf for no limit [rad/s or m/s].
            acceleration: one number, or one per velocity without the base [rad/s^2 or m/s^2]; None
                for no limits.
            margin: one number, or one per joint: distance from the position limits [rad or m].
            approach: largest fraction of the distance to a limit that a joint moves in one step,
                above 0 and at most 1.

        Raises:
            InvalidArgumentError: an argument is out of range, or a margin leaves no range.
        """
        check_positive('approach', approach)
        if approach > 1.0:
            raise InvalidArgumentError('approach', f'{approach}', 'above 0 and at most 1')
        base, nv = robot.model.root_joint_nv, robot.nv
        self._approach, self._joints = approach, slice(base, None)
        self._velocity, self._acceleration = np.full((2, nv), np.inf)
        velocity = robot.velocity_limits if velocity is None else velocity
        self._velocity[base:] = _positive('velocity', velocity, nv - base)
        acceleration = np.inf if acceleration is None else acceleration
        self._acceleration[base:] = _positive('acceleration', acceleration, nv - base)
        self._accelerates = bool(np.isfinite(self._acceleration).any())
        names = [name for name in robot.joint_names if name in robot.joint_q_indices]
        self._q = np.array([robot.joint_q_indices[name] for name in names], dtype=np.intp)
        self._v = np.array([robot.joint_v_indices[name] for name in names], dtype=np.intp)
        self.margin = per_entry('margin', margin, len(names), least=0.0)
        limited = self._q - robot.model.root_joint_nq
        self._lower, self._upper = np.full((2, nv), np.inf) * [[-1.0], [1.0]]
        self._lower[self._v] = robot.lower_limits[limited] + self.margin
        self._upper[self._v] = robot.upper_limits[limited] - self.margin
        empty = self._lower[self._v] - self._upper[self._v]
        if (empty > 0.0).any():
            problem = f'leaves no range of {names[int(np.argmax(empty))]!r}'
            raise InvalidArgumentError('margin', problem, 'smaller margins')

    def bounds(self, q: Array, dt: float, last: Array | None) -> Bounds:
        """Bounds of the next velocity.

        Args:
            q: configuration (nq).
            dt: duration of the step [s].
            last: previous velocity (nv); None to ignore acceleration limits.
        """
        positions, upper = np.zeros(len(self._velocity)), self._velocity
        positions[self._v] = q[self._q]
        distances = np.array([self._upper - positions, positions - self._lower])
        ahead, behind = self._reachable(distances, dt)
        lower = -upper
        if self._accelerates and last is not None:
            change = self._acceleration * dt
            lower, upper = np.clip([last - change, last + change], lower, upper)
        # The order of clipping is the order of priority: the last bounds hold in any case.
        lower, upper = np.minimum(np.maximum([lower, upper], -behind), ahead)
        return Bounds(lower, upper, ahead, behind)

    def stopping_ways(self, dt: float, last: Array | None) -> Array:
        """Motion of each joint (nv) within which a row of `approach_rows` can bind [rad or m].

        A pair's row binds only where its way is at most the sum, over the joints, of its levers
        times v dt / approach + v^2 / a for the largest next velocity v: by that row, or by
        Cauchy's inequality for the square root in the other one.
        """
        if not self._accelerates or last is None:
            return self._velocity * (dt / self._approach)
        speed = np.abs(last)
        speed = np.minimum(speed + self._acceleration * dt, np.maximum(self._velocity, speed))
        with np.errstate(invalid='ignore'):  # inf / inf where a joint has no limits
            ways = speed * (dt / self._approach) + speed * speed / self._acceleration
        return np.where(np.isnan(ways), np.inf, ways)

    def approach_rows(
        self, ways: Array, rates: Array, dt: float, last: Array | None
    ) -> tuple[Array, Array]:
        """Rows G v <= h that let pairs of bodies approach each other only as they can stop.

        In one step a pair closes at most the fraction ``approach`` of its way. With acceleration
        limits there are two rows for each pair. The first brakes it: at half of what all joints
        can do together, because levers change. The second lets every joint stop on its own, as in a
        ramp to rest: a joint at v, which brakes at a, moves v^2 / (2 a) and brings the pair closer
        by its lever times that, of which twice is kept.

        Args:
            ways: (k) distances to the closest approach [m]; below zero: no approach at all.
            rates: (k, nv) levers: rates of the distances per velocity.
            dt: duration of the step [s].
            last: previous velocity (nv); None to ignore acceleration limits.
        """
        ways = np.maximum(ways, 0.0)
        G, h = -rates, ways * (self._approach / dt)
        if not self._accelerates or last is None:
            return G, h
        levers, acceleration = np.abs(rates[:, self._joints]), self._acceleration[self._joints]
        reachable = np.where(levers == 0.0, 0.0, levers * acceleration).sum(axis=1)
        braking = 1.0 + (self._approach / dt) * np.abs(last) / self._acceleration
        slowing = np.minimum(h, np.sqrt(np.where(ways > 0.0, reachable * ways, 0.0)))
        return np.concatenate([G, G * braking]), np.concatenate([slowing, h])

    def binding(self, bounds: Bounds, v: Array) -> dict[int, str]:
        """Active bounds of a velocity v (nv): kind of limit by index of the velocity."""
        slack = AT_BOUND * (1.0 + np.abs(v))
        active = (v >= bounds.upper - slack) | (v <= bounds.lower + slack)
        if not active.any():
            return {}
        at_position_limit = (v >= bounds.ahead - slack) | (v <= slack - bounds.behind)
        kinds = {}
        for i in np.flatnonzero(active).tolist():
            at_velocity_limit = abs(v[i]) >= self._velocity[i] - slack[i]
            kinds[i] = (
                VELOCITY
                if at_velocity_limit
                else POSITION
                if at_position_limit[i]
                else ACCELERATION
            )
        return kinds

    def _reachable(self, ways: Array, dt: float) -> Array:
        """Largest speeds (2, nv) towards limits at the given distances; negative beyond a limit."""
        speeds = (self._approach / dt) * ways
        if self._accelerates:
            # Solution v of v dt + v^2 / (2 a) = way, in a form without cancellation.
            remaining = np.minimum(np.maximum(ways, 0.0), MAX_DISTANCE)
            root = np.sqrt(dt * dt + 2.0 * remaining / self._acceleration)
            speeds = np.where(
                ways < np.inf, np.minimum(speeds, 2.0 * remaining / (root + dt)), np.inf
            )
            # A joint beyond its limit returns with at most the acceleration limit from rest.
            speeds = np.maximum(speeds, -self._acceleration * dt)
        return np.asarray(np.clip(speeds, -self._velocity, self._velocity))


def _positive(argument: str, value: ArrayLike, size: int) -> Array:
    entries = per_entry(argument, value, size, least=0.0, infinite=True)
    if (entries == 0.0).any():
        raise InvalidArgumentError(argument, 'zero', 'positive numbers, or inf for no limit')
    return entries
