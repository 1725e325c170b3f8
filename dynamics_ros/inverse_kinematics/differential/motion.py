# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of differential inverse kinematics: joint velocities for tasks ([RD] 2.9)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dsyev

from dynamics_ros.collision import Collisions
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.model.hardened_xml import MAXIMUM_NUMBER
from dynamics_ros.multibody.arguments import check_not_negative, check_positive, finite_vector
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .bounded import damped_step, solve_bounded, within
from .limits import Bounds, Limits
from .tasks import VelocityTask

Array = NDArray[np.float64]

BINDING = 1e-6
"""Difference from its bound at which a row counts as limiting [m/s]."""

LEAST_LEVER = 1e-6
"""Lever below which no joint changes the distance of a pair [m, or 1 for sliding joints]."""


@dataclass(frozen=True, eq=False)
class DifferentialMotion:
    """Joint velocities of a step, with errors of the tasks and active limits.

    Attributes:
        v: (nv) velocities within all limits.
        at_limit: kind of limit ('position', 'velocity' or 'acceleration') of each joint at a bound,
            by name of the joint.
        missed: norm of the error of each task [m/s and rad/s mixed, unweighted].
        condition: ratio of the largest singular value of the weighted tasks of the first priority
            to the smallest one; inf at a singularity.
        scale: fraction of the demanded velocity of the first priority; below 1 if the speed was
            reduced to keep its direction.
        kept_apart: pairs of links and obstacles that may not approach each other faster.
    """

    v: Array
    at_limit: dict[str, str]
    missed: tuple[float, ...]
    condition: float
    scale: float
    kept_apart: tuple[tuple[str, str], ...] = ()


class Prepared(NamedTuple):
    """Problem of a step: tasks with roots of their weights, weighted levels, limits, damping."""

    demands: list[tuple[Array, Array, Array]]
    levels: list[tuple[Array, Array]]
    bounds: Bounds
    rows: tuple[Array, Array] | None
    pairs: tuple[tuple[str, str], ...]
    damping: float
    condition: float


class DifferentialInverseKinematics:
    """Joint velocities for tasks with strict priorities, within limits, also at singularities.

    Near a singularity the damping increases from ``damping`` to ``singular_damping`` as the
    smallest singular value decreases below ``singular_threshold`` ([Nakamura1986],
    [Chiaverini1994]).

    Attributes:
        robot: the robot.
        tasks: the tasks; their targets may be set between two steps.
        limits: the limits, which always hold.
        rank: rank of the tasks of the first priority at almost all configurations. A configuration
            with a lower rank is a singularity.
        collisions: links and obstacles that keep apart; None: not checked. May be set between two
            steps to a scene of the same robot.
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
        collisions: Collisions | None = None,
    ) -> None:
        """Check the tasks, and compile their kernels.

        Args:
            robot: the robot.
            tasks: at least one task.
            limits: None for the limits of the description, without acceleration limits.
            damping: damping far from singularities, in units of the weighted Jacobian of the tasks.
            singular_damping: damping at a singularity.
            singular_threshold: smallest singular value below which the damping increases.
            keep_direction: if limits are active, scale all demands of the first priority by the
                same factor to keep their direction, instead of minimizing the error of each.
            locked_joints: names of joints that do not move.
            base_moves: whether a floating or planar base moves.
            collisions: links and obstacles that keep apart by its margin: the closer a pair, the
                slower it approaches (velocity damper, [Faverjon1987]). A pair within the margin
                does not approach further; nothing drives it apart. Position limits have priority.

        Raises:
            InvalidArgumentError: there is no task, or a task or the scene does not fit the robot.
            UnknownJointError: the robot does not have a locked joint.
        """
        if not tasks:
            raise InvalidArgumentError('tasks', 'none', 'at least one')
        check_positive('damping', damping)
        check_not_negative('singular_damping', singular_damping, MAXIMUM_NUMBER)
        check_not_negative('singular_threshold', singular_threshold)
        self.robot = robot
        self.tasks = tuple(tasks)
        self.limits = Limits(robot) if limits is None else limits
        self._damping = damping
        self._singular_damping = max(singular_damping, damping)
        self._threshold = singular_threshold
        self._keep_direction = keep_direction
        if collisions is not None:
            Collisions.check_robot(collisions, robot)
        self.collisions = collisions
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
        # Rows of zero weight are removed, because they would look like a singularity.
        self._rows = [
            None if task.weight.all() else np.flatnonzero(task.weight) for task in self.tasks
        ]
        # Directions that the joints cannot move at any configuration are no singularity either.
        # Almost all configurations have the largest rank; three random ones are tried.
        self.rank = max(
            int(np.linalg.matrix_rank(self._first_level(robot.random_configuration(seed))))
            for seed in range(3)
        )

    def _first_level(self, q: Array) -> Array:
        """Weighted matrix A of the tasks of the first priority at q."""
        demands = [self._demand(i, q, 1.0) for i in range(len(self.tasks))]
        return self._level(demands, self._levels[0])[0]

    def condition(self, q: Array) -> float:
        """``condition`` of a motion at a configuration (nq)."""
        return _singular_values(self._first_level(q), self.rank)[1]

    def velocity(
        self, q: ArrayLike, dt: float, last: ArrayLike | None = None
    ) -> DifferentialMotion:
        """Compute the velocity of the next step.

        Args:
            q: current configuration (nq).
            dt: duration of the step [s].
            last: previous velocity (nv), for acceleration limits; None to ignore them.

        Raises:
            InvalidArgumentError: an argument has a wrong shape, is not finite or is out of range.
        """
        return self.solve(self.prepare(q, dt, last))

    def prepare(self, q: ArrayLike, dt: float, last: ArrayLike | None = None) -> Prepared:
        """Compute what `solve` needs; arguments as of `velocity`."""
        configuration = finite_vector('q', q, self.robot.nq)
        check_positive('dt', dt)
        last_velocity = None if last is None else finite_vector('last', last, self.robot.nv)
        demands = [self._demand(i, configuration, dt) for i in range(len(self.tasks))]
        levels = [self._level(demands, members) for members in self._levels]
        bounds = self.limits.bounds(configuration, dt, last_velocity)
        if self._moving is not None:
            # What does not move stays beyond its limits, too.
            still = self._moving == 0.0
            lower = np.where(still, np.minimum(bounds.lower, 0.0), bounds.lower)
            bounds = bounds._replace(
                lower=lower, upper=np.where(still, np.maximum(bounds.upper, 0.0), bounds.upper)
            )
        rows, pairs = self._apart(configuration, dt, last_velocity, bounds.ways)
        singular_value, condition = _singular_values(levels[0][0], self.rank)
        damping = self._damping_at(singular_value)
        return Prepared(demands, levels, bounds, rows, pairs, damping, condition)

    def solve(self, prepared: Prepared, share: float = 1.0) -> DifferentialMotion:
        """Compute the velocity of the next step.

        Args:
            prepared: result of `prepare`.
            share: factor of the demands of the first priority.
        """
        demands, levels, bounds, rows, pairs, damping, condition = prepared
        if share != 1.0:
            levels = [(levels[0][0], share * levels[0][1]), *levels[1:]]
            scales = [share if i in self._levels[0] else 1.0 for i in range(len(demands))]
            demands = [(A, y * b, root) for y, (A, b, root) in zip(scales, demands, strict=True)]
        limits, v, scale = (bounds.lower, bounds.upper, damping, rows), None, 1.0
        if self._keep_direction:
            step = damped_step(*levels[0], damping)
            if not within(step, bounds.lower, bounds.upper, rows):
                v, scale = self._scaled_velocity(levels, *limits)
            elif len(levels) == 1:
                v = np.minimum(np.maximum(step, bounds.lower), bounds.upper)
        if v is None:
            v = solve_bounded(levels, *limits)
        binding, close = self.limits.binding(bounds, v), _close(rows, v)
        missed = tuple(math.sqrt(float(e @ e)) for e in (A @ v - b for A, b, _ in demands))
        return DifferentialMotion(
            v,
            {self._joint_of.get(i, f'v[{i}]'): kind for i, kind in binding.items()},
            missed,
            condition,
            scale,
            tuple(dict.fromkeys(pairs[k % len(pairs)] for k in close)),
        )

    def _apart(
        self, q: Array, dt: float, last: Array | None, ways: Array
    ) -> tuple[tuple[Array, Array] | None, tuple[tuple[str, str], ...]]:
        """Rows G v <= h that keep bodies apart, None without any, and their pairs, in turn."""
        if self.collisions is None:
            return None, ()
        margin = self.collisions.margin
        if self._moving is not None:
            ways = np.where(self._moving == 0.0, 0.0, ways)
        found, J = self.collisions.distance_jacobian(q, margin, ways)
        if not found.pairs:
            return None, ()
        if self._moving is not None:
            J = J * self._moving
        return self.limits.approach_rows(found.distance - margin, J, dt, last), found.pairs

    def _demand(self, i: int, q: Array, dt: float) -> tuple[Array, Array, Array]:
        """Rows A, b of a task with nonzero weight, and the square roots of their weights."""
        A, b = self.tasks[i].demand(self.robot, q, dt)
        weight, rows = self.tasks[i].weight, self._rows[i]
        if rows is not None:
            A, b, weight = A[rows], b[rows], weight[rows]
        return A if self._moving is None else A * self._moving, b, np.sqrt(weight)

    def _level(
        self, demands: Sequence[tuple[Array, Array, Array]], members: Sequence[int]
    ) -> tuple[Array, Array]:
        """Weighted rows A, b of the tasks of one priority."""
        rows = [(A * root[:, None], b * root) for A, b, root in (demands[i] for i in members)]
        if len(rows) == 1:
            return rows[0]
        return np.vstack([A for A, _ in rows]), np.concatenate([b for _, b in rows])

    def _scaled_velocity(
        self,
        levels: Sequence[tuple[Array, Array]],
        lower: Array,
        upper: Array,
        damping: float,
        rows: tuple[Array, Array] | None,
    ) -> tuple[Array, float]:
        """Velocity v and factor s of the first demand: A v = s b, with s as close to 1 as possible.

        The unknowns are (v, s). The direction has the first priority, the factor the second.
        """
        (A, b), *others = levels
        n = A.shape[1]
        size = math.sqrt(float(b @ b)) or 1.0
        direction_rows = _extended(A, -b / size), np.zeros(len(b))
        factor_row = _extended(np.zeros((1, n)), 1.0), np.array([size])
        lower_levels = [(_extended(C, 0.0), d) for C, d in others]
        bounds = _extended(lower, 0.0), _extended(upper, size)
        if rows is not None:
            rows = _extended(rows[0], 0.0), rows[1]
        demands = [direction_rows, factor_row, *lower_levels]
        x = solve_bounded(demands, *bounds, damping, rows, bind=True)
        return x[:n], float(x[n] / size)

    def _damping_at(self, singular_value: float) -> float:
        if singular_value >= self._threshold:
            return self._damping
        ratio = singular_value / self._threshold
        return max(self._damping, self._singular_damping * math.sqrt(1.0 - ratio * ratio))


def _close(rows: tuple[Array, Array] | None, v: Array) -> list[int]:
    """Rows that limit a velocity v (nv)."""
    if rows is None:
        return []
    G, h = rows
    binds = (G @ v >= h - BINDING) & (np.abs(G).max(axis=1) > LEAST_LEVER)
    close: list[int] = np.flatnonzero(binds).tolist()
    return close


def _singular_values(A: Array, rank: int) -> tuple[float, float]:
    """Singular value number ``rank`` of A, accurate to about 1e-8, and the largest one over it."""
    if not rank:
        return 0.0, math.inf
    product = A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A
    # LAPACK is called directly, because NumPy's checks take longer than the computation.
    values, _, _ = dsyev(product, compute_v=0)
    least, largest = (math.sqrt(max(values.item(i), 0.0)) for i in (len(product) - rank, -1))
    return least, largest / least if least > 0.0 else math.inf


def _extended(A: Array, last: float | Array) -> Array:
    """A vector or matrix with one more entry, or column."""
    longer = np.empty((*A.shape[:-1], A.shape[-1] + 1))
    longer[..., :-1], longer[..., -1] = A, last
    return longer
