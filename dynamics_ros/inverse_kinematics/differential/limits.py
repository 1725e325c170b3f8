# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Velocity bounds of a step that keep position, velocity and acceleration limits."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import compile
from dynamics_ros.kernels.math import maximum, minimum, sqrt, where
from dynamics_ros.multibody.arguments import check_positive, per_entry
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

Array = NDArray[np.float64]

KINDS = ('position', 'velocity', 'acceleration')
"""Kinds of limits."""

AT_BOUND = 1e-9
"""Distance from a bound, relative to 1 plus the velocity, at which the bound counts as active."""


UNBOUNDED = 1e9
"""Distance, velocity or acceleration in computations where there is no limit [rad or m, s]."""


class Bounds(NamedTuple):
    """Bounds of the next velocity, (nv) each [rad/s or m/s]; ``UNBOUNDED`` where there is none.

    Attributes:
        lower, upper: bounds from all limits.
        ahead, behind: largest speeds towards the upper and the lower position limit.
        ways: motion of each joint within which a row of `Limits.approach_rows` can bind [rad or m].
    """

    lower: Array
    upper: Array
    ahead: Array
    behind: Array
    ways: Array


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
        self._velocity, self._acceleration, self._unbounded = np.full((3, nv), UNBOUNDED)
        velocity = robot.velocity_limits if velocity is None else velocity
        self._velocity[base:] = _positive('velocity', velocity, nv - base)
        acceleration = np.inf if acceleration is None else acceleration
        self._acceleration[base:] = _positive('acceleration', acceleration, nv - base)
        self._accelerates = bool((self._acceleration < UNBOUNDED).any())
        names = [name for name in robot.joint_names if name in robot.joint_q_indices]
        self._q = np.array([robot.joint_q_indices[name] for name in names], dtype=np.intp)
        self._v = np.array([robot.joint_v_indices[name] for name in names], dtype=np.intp)
        self.margin = per_entry('margin', margin, len(names), least=0.0)
        limited = self._q - robot.model.root_joint_nq
        self._lower, self._upper = np.full((2, nv), UNBOUNDED) * [[-1.0], [1.0]]
        lower, upper = robot.lower_limits[limited], robot.upper_limits[limited]
        self._lower[self._v] = np.maximum(lower + self.margin, -UNBOUNDED)
        self._upper[self._v] = np.minimum(upper - self.margin, UNBOUNDED)
        empty = self._lower[self._v] - self._upper[self._v]
        if (empty > 0.0).any():
            problem = f'leaves no range of {names[int(np.argmax(empty))]!r}'
            raise InvalidArgumentError('margin', problem, 'smaller margins')
        self._ranges = np.array([self._lower, self._upper, self._velocity, self._acceleration])
        inputs: dict[str, int | tuple[int, ...]]
        inputs = {'positions': nv, 'last': nv, 'change': nv, 'ranges': (4, nv), 'dt': ()}
        self._bounds = compile(partial(_bounds, approach), inputs, 'velocity_bounds')
        inputs = dict.fromkeys(('v', 'velocity', *Bounds._fields[:4]), nv)
        self._kinds = compile(_kinds, inputs, 'binding_limits')

    def bounds(self, q: Array, dt: float, last: Array | None) -> Bounds:
        """Bounds of the next velocity.

        Args:
            q: configuration (nq).
            dt: duration of the step [s].
            last: previous velocity (nv); None to ignore acceleration limits.
        """
        positions, change = np.zeros(len(self._velocity)), self._acceleration
        positions[self._v] = q[self._q]
        if last is None:
            last, change = np.zeros(len(self._velocity)), self._unbounded
        return Bounds(*self._bounds(positions, last, change, self._ranges, dt))

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
        reachable = np.abs(rates[:, self._joints]) @ self._acceleration[self._joints]
        braking = 1.0 + (self._approach / dt) * np.abs(last) / self._acceleration
        slowing = np.minimum(h, np.sqrt(reachable * ways))
        return np.concatenate([G, G * braking]), np.concatenate([slowing, h])

    def binding(self, bounds: Bounds, v: Array) -> dict[int, str]:
        """Active bounds of a velocity v (nv): kind of limit by index of the velocity."""
        kinds = self._kinds(v, self._velocity, *bounds[:4])
        return {i: KINDS[int(kind)] for i, kind in enumerate(kinds.tolist()) if kind >= 0.0}


def _bounds(
    approach: float, positions: Any, last: Any, change: Any, ranges: Any, dt: Any
) -> dict[str, Any]:
    """`Bounds` of (nv) arrays of symbols; ``change`` is the acceleration from the last velocity."""
    lower, upper, velocity, acceleration = ranges

    def reachable(way: Any) -> Any:
        """Largest speed towards a limit at a distance; negative beyond it."""
        # Solution v of v dt + v^2 / (2 a) = way, in a form without cancellation.
        left = clip(way, 0.0, UNBOUNDED)
        ramp = 2.0 * left / (sqrt(dt * dt + 2.0 * left / acceleration) + dt)
        # A joint beyond its limit returns with at most the acceleration limit from rest.
        speed = maximum(minimum(way * (approach / dt), ramp), -dt * acceleration)
        return clip(where(way < 0.5 * UNBOUNDED, speed, velocity), -velocity, velocity)

    ahead, behind = reachable(upper - positions), reachable(positions - lower)
    # The order of clipping is the order of priority: the last bounds hold in any case.
    least, most = (clip(last + sign * dt * change, -velocity, velocity) for sign in (-1.0, 1.0))
    # A pair's row binds only where its way is at most the sum, over the joints, of its levers times
    # v dt / approach + v^2 / a for the largest next velocity v: by that row, or by Cauchy's
    # inequality for the square root in the other one.
    size = maximum(last, -last)
    speed = minimum(size + dt * change, maximum(velocity, size))
    return {
        'lower': clip(least, -behind, ahead),
        'upper': clip(most, -behind, ahead),
        'ahead': ahead,
        'behind': behind,
        'ways': speed * (dt / approach) + speed * speed / change,
    }


def _kinds(v: Any, velocity: Any, lower: Any, upper: Any, ahead: Any, behind: Any) -> Any:
    """Index in ``KINDS`` of the active bound of each velocity, -1 for none."""
    size = maximum(v, -v)
    slack = AT_BOUND * (1.0 + size)
    kind = where(maximum(v - ahead, -behind - v) >= -slack, 0.0, 2.0)
    kind = where(size >= velocity - slack, 1.0, kind)
    return where(maximum(v - upper, lower - v) >= -slack, kind, -1.0)


def clip(x: Any, low: Any, high: Any) -> Any:
    """``np.clip`` of symbols."""
    return minimum(maximum(x, low), high)


def _positive(argument: str, value: ArrayLike, size: int) -> Array:
    entries = per_entry(argument, value, size, least=0.0, infinite=True)
    if (entries == 0.0).any():
        raise InvalidArgumentError(argument, 'zero', 'positive numbers, or inf for no limit')
    return np.minimum(entries, UNBOUNDED)
