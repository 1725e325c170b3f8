# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint efforts of a planned trajectory, and its violations of the robot's limits.

The motion between points is interpolated as joint_trajectory_controllers do: by cubic polynomials
of positions and velocities, or quintic ones if accelerations are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dynamics_ros.constraints import (
    PassiveJoints,
    gravity_in_loops,
    inverse_dynamics_in_loops,
    loops_of,
)
from dynamics_ros.constraints.dynamics import rows_and_bias
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .task_space import check_fixed_base

SPACING = 0.01
"""Largest time between two samples at which limits are checked [s]."""

MAX_TIMES = 4000
"""Largest number of sample intervals in a trajectory; longer ones are sampled less densely."""

ROUNDING = 1e-9
"""Relative excess that counts as zero."""

QUANTITIES = ('position', 'velocity', 'effort')


@dataclass(frozen=True, eq=False)
class JointMotion:
    """Trajectory of m points and k joints.

    Attributes:
        names: of the joints, in the order of the columns.
        time: (m) [s].
        q, v: (m, k) [rad, m; per s].
        a: (m, k) [rad/s^2, m/s^2]: as given, or the mean of both sides of each point.
        quintic: whether accelerations were given.
    """

    names: tuple[str, ...]
    time: Array
    q: Array
    v: Array
    a: Array
    quintic: bool

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        time: ArrayLike,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
    ) -> JointMotion:
        """Check points and compute missing velocities and accelerations.

        Args:
            names: of k joints.
            time: (m) increasing times, 0 or later [s].
            q: (m, k).
            v: (m, k); None: of the cubic spline through the positions that starts and ends at rest.
            a: (m, k); None: of the cubic polynomials between the points, the mean of both sides of
                each point.

        Raises:
            InvalidArgumentError: naming the argument.
        """
        if not names or len(set(names)) != len(names):
            problem = 'a joint is named twice' if names else 'empty'
            raise InvalidArgumentError('joint_names', problem, 'each joint once')
        moments = np.asarray(time, dtype=np.float64)
        growing = moments.ndim == 1 and moments.size and (np.diff(moments) > 0.0).all()
        if not growing or not np.isfinite(moments).all() or moments[0] < 0.0:
            raise InvalidArgumentError('time_from_start', repr(time), 'times that grow, from 0 on')
        shape = (len(moments), len(names))
        positions = _points('positions', q, shape)
        if v is None and a is not None:
            problem = 'missing beside accelerations'
            raise InvalidArgumentError('velocities', problem, 'both, velocities alone, or neither')
        if v is not None:
            velocities = _points('velocities', v, shape)
        elif len(moments) == 1:
            velocities = np.zeros(shape)
        else:
            spline = scipy.interpolate.CubicSpline(moments, positions, bc_type='clamped')
            velocities = np.asarray(spline(moments, 1))
        quintic = a is not None
        accelerations = np.zeros(shape)
        if a is not None:
            accelerations = _points('accelerations', a, shape)
        elif len(moments) > 1:
            accelerations = _mean_accelerations(moments, positions, velocities)
        return cls(tuple(names), moments, positions, velocities, accelerations, quintic)

    def moments(self) -> Array:
        """Times at which limits are checked: the points, and samples between them."""
        spacing = max(SPACING, float(self.time[-1] - self.time[0]) / MAX_TIMES)
        parts = [
            np.linspace(begin, end, max(1, int(np.ceil((end - begin) / spacing))), endpoint=False)
            for begin, end in zip(self.time, self.time[1:])
        ]
        return np.concatenate([*parts, self.time[-1:]])

    def at(self, time: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations (n, k) at times (n) within the trajectory."""
        if len(self.time) == 1:
            rows = np.zeros(len(time), dtype=int)
            return self.q[rows], self.v[rows], self.a[rows]
        derivatives = [self.q, self.v, *([self.a] if self.quintic else [])]
        curve = scipy.interpolate.BPoly.from_derivatives(self.time, np.stack(derivatives, axis=1))
        q, v, a = (np.asarray(curve(time, order)) for order in range(3))
        # At a point the curve has the acceleration of one side only.
        place = np.searchsorted(self.time, time)
        place = np.minimum(place, len(self.time) - 1)
        points = self.time[place] == time
        a[points] = self.a[place[points]]
        return q, v, a


@dataclass(frozen=True)
class LimitViolation:
    """Largest violation of one limit by one joint.

    Attributes:
        joint: its name.
        quantity: one of ``QUANTITIES``.
        time: from the start [s].
        value: at that time [rad, rad/s, Nm; m, m/s, N].
        limit: the violated limit; negative for a lower limit of velocity and effort.
    """

    joint: str
    quantity: str
    time: float
    value: float
    limit: float

    def __str__(self) -> str:
        return (
            f'{self.quantity} of {self.joint} is {self.value:.6g} at {self.time:.3f} s, '
            f'its limit {self.limit:.6g}'
        )


class FeedForward:
    """Computes the joint efforts of a planned motion; the other joints are at rest."""

    def __init__(
        self,
        robot: RigidBodySystem,
        q: Array,
        friction: Callable[[Array, Array], Array] | None = None,
        *,
        with_gravity: bool = True,
    ) -> None:
        """Keep the robot and its friction model.

        Args:
            robot: the robot with its payload, on a fixed base.
            q: (nq) positions of joints that a trajectory does not name; those of passive joints are
                where their motion begins.
            friction: torques (nv) at velocities (nv) of joints that transmit torques (nv), such as
                ``EffortModel.friction_torque``; None: no friction.
            with_gravity: whether the efforts include gravity compensation; some robots do that
                themselves.

        Raises:
            InvalidArgumentError: the base of the robot moves.
        """
        check_fixed_base(robot)
        self.robot = robot
        self._q = q
        self._friction = friction
        self._with_gravity = with_gravity

    def efforts(self, motion: JointMotion) -> Array:
        """Efforts (m, k) at the points [Nm, N if prismatic].

        Raises:
            UnknownJointError: the robot does not have a joint.
            InvalidArgumentError: a joint is passive, or the motion does not close the loops.
            InfeasibleError: motors and loops do not produce the motion.
        """
        return self._efforts(motion, motion.q, motion.v, motion.a)

    def violations(self, motion: JointMotion) -> tuple[LimitViolation, ...]:
        """Largest violation of each joint and quantity, at the points and between them.

        Effort limits apply to the whole effort, gravity compensation included. Passive joints of
        loops are not checked.

        Raises:
            UnknownJointError, InvalidArgumentError, InfeasibleError: as ``efforts``, also between
                the points.
        """
        robot, time = self.robot, motion.moments()
        q, v, a = motion.at(time)
        whole = FeedForward(robot, self._q, self._friction)
        places = self._places(motion)
        columns = [robot.joint_q_indices[name] for name in motion.names]
        fastest, strongest = robot.velocity_limits[places], robot.effort_limits[places]
        lower = robot.lower_limits[columns], -fastest, -strongest
        upper = robot.upper_limits[columns], fastest, strongest
        found = []
        rows = zip(QUANTITIES, (q, v, whole._efforts(motion, q, v, a)), lower, upper, strict=True)
        for quantity, values, low, high in rows:
            for sign, limits in ((1.0, high), (-1.0, low)):
                excess = sign * (values - limits)
                for j, worst in enumerate(excess.argmax(axis=0)):
                    limit, value = float(limits[j]), float(values[worst, j])
                    if excess[worst, j] > ROUNDING * max(1.0, abs(limit)):
                        name, when = motion.names[j], float(time[worst])
                        found.append(LimitViolation(name, quantity, when, value, limit))
        return tuple(found)

    def _efforts(self, motion: JointMotion, q: Array, v: Array, a: Array) -> Array:
        robot, places = self.robot, self._places(motion)
        configuration = np.tile(self._q, (len(q), 1))
        configuration[:, [robot.joint_q_indices[name] for name in motion.names]] = q
        velocity, acceleration = np.zeros((2, len(q), robot.nv))
        velocity[:, places], acceleration[:, places] = v, a
        solve, weight = robot.inverse_dynamics, robot.gravity
        if robot.model.loops:
            solve = partial(inverse_dynamics_in_loops, robot)
            weight = partial(gravity_in_loops, robot)
            self._close(configuration, velocity)
        tau = carried = solve(configuration, velocity, acceleration)
        if not self._with_gravity:
            tau = tau - weight(configuration)
        if self._friction is not None:
            # Gear friction depends on the whole torque, gravity included.
            rows = zip(velocity, carried, strict=True)
            tau = tau + np.array([self._friction(*row) for row in rows])
        return np.asarray(tau)[:, places]

    def _close(self, q: Array, v: Array) -> None:
        """Set passive joints in configurations q (n, nq) and velocities v (n, nv), in turn.

        Raises:
            InvalidArgumentError: loops that do not close, or may close in another way than before.
        """
        robot = self.robot
        J, _ = rows_and_bias(robot, self._q, None, loops_of(robot))
        at = robot.joint_v_indices
        names = [x for x in robot.model.passive_joints if x in at and J[:, at[x]].any()]
        if not names:
            return
        passive = PassiveJoints(robot, names, self._q)
        for row, (positions, velocities) in enumerate(zip(q, v, strict=True)):
            if not passive.solve(positions, velocities):
                problem = f'loops do not close, or are singular, at sample {row} of {len(q)}'
                raise InvalidArgumentError('positions', problem, 'positions that close the loops')

    def _places(self, motion: JointMotion) -> list[int]:
        """Indices of the joints among the velocities."""
        for name in motion.names:
            if name not in self.robot.joint_v_indices:
                raise UnknownJointError('joint_names', name, self.robot.joint_v_indices)
            if self.robot.model.loops and name in self.robot.model.passive_joints:
                problem = f'{name!r} is one of passive_joints'
                raise InvalidArgumentError('joint_names', problem, 'joints with motors')
        return [self.robot.joint_v_indices[name] for name in motion.names]


def _points(argument: str, values: ArrayLike, shape: tuple[int, int]) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except ValueError:  # rows of different lengths
        array = np.zeros(0)
    if array.shape != shape or not np.isfinite(array).all():
        counts = [np.size(row) for row in np.atleast_1d(np.asarray(values, dtype=object))]
        wrong = next((i for i, count in enumerate(counts) if count != shape[1]), None)
        problem = (
            'another count, or no numbers' if wrong is None else f'{counts[wrong]} in point {wrong}'
        )
        expected = f'{shape[1]} finite numbers in each of {shape[0]} points'
        raise InvalidArgumentError(argument, problem, expected)
    return array


def _mean_accelerations(time: Array, q: Array, v: Array) -> Array:
    """(m, k) of cubic polynomials, at each point the mean of both sides."""
    h = np.diff(time)[:, None]
    slope = np.diff(q, axis=0) / h
    after = (6.0 * slope - 4.0 * v[:-1] - 2.0 * v[1:]) / h
    before = (-6.0 * slope + 2.0 * v[:-1] + 4.0 * v[1:]) / h
    return np.concatenate([after[:1], 0.5 * (before[:-1] + after[1:]), before[-1:]])
