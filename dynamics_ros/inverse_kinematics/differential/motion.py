# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One step of differential inverse kinematics: joint velocities for tasks ([RD] 2.9)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dsyev

from dynamics_ros.collision import Collisions
from dynamics_ros.collision.scene import Pair
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.model.hardened_xml import MAXIMUM_NUMBER
from dynamics_ros.multibody.arguments import check_not_negative, check_positive, finite_vector
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .bounded import solve_bounded
from .limits import UNBOUNDED, Bounds, Limits
from .tasks import VelocityTask

Array = NDArray[np.float64]

BINDING = 1e-6
"""Difference from its bound at which a row counts as limiting [m/s]."""

LEAST_LEVER = 1e-6
"""Lever below which no joint changes the distance of a pair [m, or 1 for sliding joints]."""


@dataclass(frozen=True, eq=False)
class DifferentialMotion:
    """Joint velocities of a step, with active limits.

    Attributes:
        v: (nv) velocities within all limits.
        at_limit: kind of limit ('position', 'velocity' or 'acceleration') of each joint at a bound,
            by name of the joint.
        condition: ratio of the largest singular value of the weighted tasks of the first priority
            to the smallest one; inf at a singularity.
        scale: fraction of the demanded velocity of the first priority, along its direction; below 1
            only where limits are active.
        kept_apart: pairs of links and obstacles that may not approach each other faster.
    """

    v: Array
    at_limit: dict[str, str]
    condition: float
    scale: float
    kept_apart: tuple[Pair, ...] = ()


class Prepared(NamedTuple):
    """Problem of a step: weighted levels, limits, rows G v <= h of pairs, damping."""

    levels: list[tuple[Array, Array]]
    bounds: Bounds
    G: Array
    h: Array
    pairs: tuple[Pair, ...]
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
        for task in self.tasks:
            task.check(robot)
            task.demand(robot, robot.neutral(), 1.0)
        levels: dict[int, list[tuple[VelocityTask, Any, Array]]] = {}
        for task in sorted(self.tasks, key=lambda task: task.priority):
            # Rows of zero weight are removed, because they would look like a singularity.
            rows = slice(None) if task.weight.all() else np.flatnonzero(task.weight)
            entry = task, rows, np.sqrt(task.weight[rows])
            levels.setdefault(task.priority, []).append(entry)
        self._levels = list(levels.values())
        # Directions that the joints cannot move at any configuration are no singularity either.
        # Almost all configurations have the largest rank; three random ones are tried.
        samples = (robot.random_configuration(seed) for seed in range(3))
        self.rank = max(int(np.linalg.matrix_rank(self._level(0, q, 1.0)[0])) for q in samples)

    def condition(self, q: Array) -> float:
        """``condition`` of a motion at a configuration (nq)."""
        return _singular_values(self._level(0, q, 1.0)[0], self.rank)[1]

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
        levels = [self._level(i, configuration, dt) for i in range(len(self._levels))]
        bounds = self.limits.bounds(configuration, dt, last_velocity)
        if self._moving is not None:
            # What does not move stays beyond its limits, too.
            still = self._moving == 0.0
            bounds = bounds._replace(
                lower=np.where(still, np.minimum(bounds.lower, 0.0), bounds.lower),
                upper=np.where(still, np.maximum(bounds.upper, 0.0), bounds.upper),
                ways=np.where(still, 0.0, bounds.ways),
            )
        G, h = np.empty((0, self.robot.nv)), np.empty(0)
        pairs: tuple[Pair, ...] = ()
        if self.collisions is not None:
            margin = self.collisions.margin
            found, J = self.collisions.distance_jacobian(configuration, margin, bounds.ways)
            if found.pairs:
                J, pairs = J if self._moving is None else J * self._moving, found.pairs
                G, h = self.limits.approach_rows(found.distance - margin, J, dt, last_velocity)
        singular_value, condition = _singular_values(levels[0][0], self.rank)
        damping = self._damping_at(singular_value)
        return Prepared(levels, bounds, G, h, pairs, damping, condition)

    def solve(self, prepared: Prepared, share: float = 1.0) -> DifferentialMotion:
        """Compute the velocity of the next step.

        Args:
            prepared: result of `prepare`.
            share: factor of the demands of the first priority.
        """
        ((A, b), *others), bounds, G, h, pairs, damping, condition = prepared
        low, high, b = bounds.lower, bounds.upper, share * b
        if len(G):
            low, high = np.append(low, np.full(len(h), -UNBOUNDED)), np.append(high, h)
        v = solve_bounded([(A, b), *others], low, high, damping, G, self._keep_direction)
        binding, scale = self.limits.binding(bounds, v), 1.0
        close: tuple[Pair, ...] = ()
        if len(G):
            binds = (G @ v >= h - BINDING) & (np.abs(G).max(axis=1) > LEAST_LEVER)
            close = tuple(dict.fromkeys(pairs[k % len(pairs)] for k in np.flatnonzero(binds)))
        if (binding or close) and b.any():
            scale = min(1.0, max(0.0, float(b @ (A @ v)) / float(b @ b)))
        at_limit = {self._joint_of.get(i, f'v[{i}]'): kind for i, kind in binding.items()}
        return DifferentialMotion(v, at_limit, condition, scale, close)

    def _level(self, level: int, q: Array, dt: float) -> tuple[Array, Array]:
        """Rows A, b of the tasks of one priority, times the roots of their weights."""
        rows = []
        for task, kept, root in self._levels[level]:
            A, b = task.demand(self.robot, q, dt)
            rows.append((A[kept] * root[:, None], b[kept] * root))
        A, b = rows[0] if len(rows) == 1 else map(np.concatenate, zip(*rows, strict=True))
        return A if self._moving is None else A * self._moving, b

    def _damping_at(self, singular_value: float) -> float:
        if singular_value >= self._threshold:
            return self._damping
        ratio = singular_value / self._threshold
        return max(self._damping, self._singular_damping * math.sqrt(1.0 - ratio * ratio))


def _singular_values(A: Array, rank: int) -> tuple[float, float]:
    """Singular value number ``rank`` of A, accurate to about 1e-8, and the largest one over it."""
    if not rank:
        return 0.0, math.inf
    product = A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A
    # LAPACK is called directly, because NumPy's checks take longer than the computation.
    values, _, _ = dsyev(product, compute_v=0)
    least, largest = (math.sqrt(max(values.item(i), 0.0)) for i in (len(product) - rank, -1))
    return least, largest / least if least > 0.0 else math.inf
