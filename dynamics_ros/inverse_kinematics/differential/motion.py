# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint velocities for tasks: one step of differential inverse kinematics ([RD] 2.9)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dsyev

from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.multibody.arguments import check_not_negative, check_positive, finite_vector
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .bounded import solve_bounded
from .limits import Limits
from .tasks import VelocityTask

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DifferentialMotion:
    """Joint velocities, and how far they miss each task.

    Attributes:
        v: (nv), within all limits.
        at_limit: name of each joint at a bound to the kind of limit: 'position', 'velocity' or
            'acceleration'.
        missed: of each task, the norm of what it misses [m/s and rad/s mixed, unweighted].
        singular_value: the smallest of the tasks of the first priority, as weighted; 0 at a
            singularity.
        damping: that was used; above the one that was set near a singularity.
        scale: share of the first priority's demand that was asked for; below 1 where the
            direction was kept at a lower speed.
    """

    v: Array
    at_limit: dict[str, str]
    missed: tuple[float, ...]
    singular_value: float
    damping: float
    scale: float


class DifferentialInverseKinematics:
    """Joint velocities that serve tasks in strict order, within limits, robust at singularities.

    Near a singularity the damping grows from ``damping`` to ``singular_damping`` as the smallest
    singular value falls below ``singular_threshold`` ([Nakamura1986], [Chiaverini1994]).

    Attributes:
        robot: what moves.
        tasks: whose targets may be set between two steps.
        limits: that always hold.
        rank: in how many directions the tasks of the first priority can be moved at nearly all
            postures; a singularity is where one of these is lost.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        tasks: Sequence[VelocityTask],
        limits: Limits | None = None,
        *,
        damping: float = 1e-3,
        singular_damping: float = 0.1,
        singular_threshold: float = 0.05,
        keep_direction: bool = False,
        locked_joints: Collection[str] = (),
        base_moves: bool = True,
    ) -> None:
        """Check the tasks and compile what they need.

        Args:
            robot: what moves.
            tasks: at least one.
            limits: None is those of the description, without accelerations.
            damping: far from singularities, in the unit of the weighted tasks' Jacobian.
            singular_damping: at a singularity.
            singular_threshold: smallest singular value below which the damping grows.
            keep_direction: where limits bind, the tasks of the first priority are all served at
                the same lower speed, along the way that was asked for, rather than each as well
                as possible.
            locked_joints: names of joints that do not move.
            base_moves: whether a floating or planar base takes part.

        Raises:
            InvalidArgumentError: no task, or one that does not fit the robot.
        """
        if not tasks:
            raise InvalidArgumentError('tasks', 'none', 'at least one')
        check_positive('damping', damping)
        check_not_negative('singular_damping', singular_damping)
        check_not_negative('singular_threshold', singular_threshold)
        self.robot = robot
        self.tasks = tuple(tasks)
        self.limits = Limits(robot) if limits is None else limits
        self._damping = damping
        self._singular_damping = max(singular_damping, damping)
        self._threshold = singular_threshold
        self._keep_direction = keep_direction
        moving = np.ones(robot.nv)
        if not base_moves:
            moving[: robot.model.root_joint_nv] = 0.0
        for name in locked_joints:
            if name not in robot.joint_v_indices:
                raise UnknownJointError('locked_joints', name, robot.joint_v_indices)
            moving[robot.joint_v_indices[name]] = 0.0
        self._moving = None if moving.all() else moving
        self._joint_of = {index: name for name, index in robot.joint_v_indices.items()}
        priorities = sorted({task.priority for task in self.tasks})
        self._levels = [
            [i for i, task in enumerate(self.tasks) if task.priority == priority]
            for priority in priorities
        ]
        for task in self.tasks:
            task.check(robot)
            task.demand(robot, robot.neutral(), 1.0)
        # A row without weight would be a singularity that is none.
        self._rows = [
            None if task.weight.all() else np.flatnonzero(task.weight) for task in self.tasks
        ]
        # So would a direction that the joints can move at no posture: nearly all have this rank.
        self.rank = max(
            int(np.linalg.matrix_rank(self._first_level(robot.random_configuration(seed))))
            for seed in range(3)
        )

    def _first_level(self, q: Array) -> Array:
        """Weighted rows of the tasks of the first priority."""
        demands = [self._demand(i, q, 1.0) for i in range(len(self.tasks))]
        return self._level(demands, self._levels[0])[0]

    def velocity(
        self, q: ArrayLike, dt: float, last: ArrayLike | None = None
    ) -> DifferentialMotion:
        """The velocity for the next step.

        Args:
            q: (nq) where the robot is.
            dt: s, how long the velocity will hold.
            last: (nv) the velocity before, for limits on acceleration.

        Raises:
            InvalidArgumentError: an argument is of the wrong shape, not finite, or out of range.
        """
        here = finite_vector('q', q, self.robot.nq)
        check_positive('dt', dt)
        before = None if last is None else finite_vector('last', last, self.robot.nv)
        demands = [self._demand(i, here, dt) for i in range(len(self.tasks))]
        levels = [self._level(demands, members) for members in self._levels]
        bounds = self.limits.bounds(here, dt, before)
        singular_value = _least_singular_value(levels[0][0], self.rank)
        damping = self._damping_at(singular_value)
        v = solve_bounded(levels, bounds.lower, bounds.upper, damping)
        scale = 1.0
        binding = self.limits.binding(bounds, v)
        if binding and self._keep_direction:
            v, scale = self._along(levels, bounds.lower, bounds.upper, damping)
            binding = self.limits.binding(bounds, v)
        missed = tuple(math.sqrt(float(e @ e)) for e in (A @ v - b for A, b, _ in demands))
        return DifferentialMotion(
            v,
            {self._joint_of.get(i, f'v[{i}]'): kind for i, kind in binding.items()},
            missed,
            singular_value,
            damping,
            scale,
        )

    def _demand(self, i: int, q: Array, dt: float) -> tuple[Array, Array, Array]:
        """Rows of a task that count, and the roots of the weights of their squared errors."""
        A, b = self.tasks[i].demand(self.robot, q, dt)
        weight, rows = self.tasks[i].weight, self._rows[i]
        if rows is not None:
            A, b, weight = A[rows], b[rows], weight[rows]
        return A if self._moving is None else A * self._moving, b, np.sqrt(weight)

    def _level(
        self, demands: Sequence[tuple[Array, Array, Array]], members: Sequence[int]
    ) -> tuple[Array, Array]:
        """Weighted rows of the tasks of one priority."""
        rows = [(A * root[:, None], b * root) for A, b, root in (demands[i] for i in members)]
        if len(rows) == 1:
            return rows[0]
        return np.vstack([A for A, _ in rows]), np.concatenate([b for _, b in rows])

    def _along(
        self, levels: Sequence[tuple[Array, Array]], lower: Array, upper: Array, damping: float
    ) -> tuple[Array, float]:
        """Velocity and share s of the first demand: A v = s b, with s as near to 1 as may be.

        The unknown is (v, s). What keeps the direction comes first, how far second.
        """
        (A, b), *others = levels
        n = A.shape[1]
        size = math.sqrt(float(b @ b)) or 1.0
        along = np.column_stack([A, -b / size]), np.zeros(len(b))
        far = np.zeros((1, n + 1))
        far[0, n] = 1.0
        rest = [(np.column_stack([C, np.zeros(len(C))]), d) for C, d in others]
        bounds = np.append(lower, 0.0), np.append(upper, size)
        x = solve_bounded([along, (far, np.array([size])), *rest], *bounds, damping)
        return x[:n], float(x[n] / size)

    def _damping_at(self, singular_value: float) -> float:
        if singular_value >= self._threshold:
            return self._damping
        share = singular_value / self._threshold
        return max(self._damping, self._singular_damping * math.sqrt(1.0 - share * share))


def _least_singular_value(A: Array, rank: int) -> float:
    """The least of as many as count, from the smaller product: exact to the root of rounding."""
    if not rank:
        return 0.0
    product = A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A
    # LAPACK itself: NumPy's checks take longer than the values.
    values, _, _ = dsyev(product, compute_v=0)
    return math.sqrt(max(values.item(len(product) - rank), 0.0))
