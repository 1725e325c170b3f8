# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a robot with closed loops: all its joints move, and close the loops.

Damped Gauss-Newton steps [Sugihara2011] for frames and loops together, of limited length, so that a
search from a closed configuration rarely changes the way in which the mechanism is assembled. The
starts after the seed move away from it little by little.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dynamics_ros.constraints import loops_of
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.end_effector import pose_error

from .problem import Candidate, Problem
from .result import (
    COLLIDING,
    CONVERGED,
    STALLED,
    TIMED_OUT,
    UNREACHABLE,
    InverseKinematicsResult,
)
from .search import DAMPING, Deadline, Vector

STEPS = 60
"""Largest number of steps of a search."""

LONGEST_STEP = 0.3
"""Largest motion of a joint in a step [rad, or multiples of the chain's length]."""

CLOSED = 1e-8
"""Largest gap of a closed loop, relative to the chain's length, or in rad."""

IDLE = 5
"""Number of consecutive steps without a reduction of the error that end a search."""

NEARER_STARTS = 10
"""Number of starts until one may be anywhere within the limits."""


class _Configuration(NamedTuple):
    """A configuration, and errors of frames and of loops, positions over the chain's length."""

    q: Vector
    errors: Vector
    gaps: Vector
    jacobian: Vector

    @property
    def cost(self) -> float:
        """Sum of squared errors of the frames."""
        return float(self.errors @ self.errors)


def solve_in_loops(problem: Problem, deadline: Deadline, began: float) -> InverseKinematicsResult:
    """Configuration of all joints that brings the frames to their targets and closes the loops.

    Args:
        problem: the problem of the tree without the loops.
        deadline: time to stop; the search from the seed is completed.
        began: start time of the problem, on ``time.perf_counter`` [s].

    Raises:
        InvalidArgumentError: an option that applies to trees alone.
    """
    seed, collisions = problem.q, problem.options.collisions
    total, reason, closest = 0, STALLED, None
    for end, solution, steps in ends_in_loops(problem):
        total += steps
        if solution is not None:
            if collisions is None or not collisions.in_collision(solution.q):
                return problem.result(solution, total, CONVERGED, began)
            reason = COLLIDING
        if end is not None and (closest is None or end.cost < closest.cost):
            closest = end
        if deadline.passed():
            reason = TIMED_OUT if reason == STALLED else reason
            break
    if problem.out_of_reach() and reason != COLLIDING:
        reason = UNREACHABLE
    problem.q = seed if closest is None else closest.q
    candidate = problem.candidate(problem.q[problem.chain.q_index])
    problem.q = seed
    return problem.result(candidate, total, reason, began)


def ends_in_loops(
    problem: Problem,
) -> Iterator[tuple[_Configuration | None, Candidate | None, int]]:
    """Ends of searches from the seed, and from starts that move away from it little by little.

    Yields:
        For each search, where it closes the loops and where that is a solution, and its steps.

    Raises:
        InvalidArgumentError: an option that applies to trees alone.
    """
    options = problem.options
    for name in ('slack', 'joint_weights', 'posture', 'supports'):
        if getattr(options, name) is not None:
            raise InvalidArgumentError(name, 'given', 'None for a robot with closed loops')
    robot, seed, rng = problem.robot, problem.q, np.random.default_rng(options.random_seed)
    search = _Search(problem)
    for k in range(1 if problem.out_of_reach() else options.max_restarts + 1):
        start = seed
        if k:
            share = min(k / NEARER_STARTS, 1.0)
            start = robot.interpolate(seed, robot.random_configuration(rng), share)
            start[: robot.model.root_joint_nq] = seed[: robot.model.root_joint_nq]
        end, steps = search.run(np.clip(start, *search.limits), with_targets=True)
        if np.abs(end.gaps).max(initial=0.0) > CLOSED:  # of a target out of reach
            end, more = search.run(end.q, with_targets=False)
            steps += more
        if np.abs(end.gaps).max(initial=0.0) > CLOSED:
            yield None, None, steps
            continue
        problem.q = end.q
        solution = problem.confirmed(end.q[problem.chain.q_index])
        problem.q = seed
        yield end, solution, steps


class _Search:
    """Steps of all joints that may move, for one problem.

    Attributes:
        limits: (2, nq) ends of the ranges; locked joints are between their values at the seed.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._robot = problem, problem.robot
        self._loops = loops_of(problem.robot)
        robot, root = self._robot, self._robot.model.root_joint_nq
        length = problem.chain.length
        self._units = np.array([1.0 / length] * 3 + [1.0] * 3)
        self.limits = np.full((2, robot.nq), np.inf) * [[-1.0], [1.0]]
        self.limits[:, root:] = robot.lower_limits, robot.upper_limits
        self._free = np.zeros(robot.nv, dtype=bool)
        self._scale = np.ones(robot.nv)
        # Limits of the velocities of joints of one coordinate.
        self._at = np.zeros(robot.nv, dtype=np.intp)
        self._bounded = np.zeros(robot.nv, dtype=bool)
        for joint in robot.model.actuated:
            if joint.name in problem.options.locked_joints:
                self.limits[:, joint.q_indices] = problem.q[list(joint.q_indices)]
                continue
            indices = list(joint.v_indices)
            self._free[indices] = True
            self._scale[indices] = [length if slides else 1.0 for slides in joint.kind.slides]
            if len(joint.q_indices) == 1:
                self._at[indices], self._bounded[indices] = joint.q_indices[0], True

    def run(self, q: Vector, *, with_targets: bool) -> tuple[_Configuration, int]:
        """Best configuration of a search from q (nq), and its number of steps."""
        best = current = self._evaluated(q)
        least, idle, steps = np.inf, 0, 0
        while steps < STEPS and idle < IDLE:
            wanted = current.gaps
            J = current.jacobian[len(current.errors) :]
            if with_targets:
                wanted = np.concatenate([current.errors, wanted])
                J = current.jacobian
            cost = float(wanted @ wanted)
            idle = 0 if cost < 0.99 * least else idle + 1
            if cost < least:
                best, least = current, cost
            if least <= (0.1 * CLOSED) ** 2:
                break
            step = self._step(current.q, J, wanted, cost)
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step / self._scale).max()), 1e-12))
            moved = self._robot.integrate(current.q, step)
            current, steps = self._evaluated(np.clip(moved, *self.limits)), steps + 1
        return best, steps

    def _step(self, q: Vector, J: Vector, wanted: Vector, cost: float) -> Vector:
        """Damped step (nv) in which no joint at a limit moves beyond it."""
        free, step = self._free.copy(), np.zeros(len(self._free))
        position, (lower, upper) = q[self._at], self.limits[:, self._at]
        low, high = self._bounded & (position <= lower), self._bounded & (position >= upper)
        while free.any():
            A = J[:, free] * self._scale[free]
            damped = A.T @ A + (DAMPING * cost + 1e-14) * np.eye(A.shape[1])
            step[:] = 0.0
            step[free] = self._scale[free] * np.linalg.solve(damped, A.T @ wanted)
            beyond = free & ((low & (step < 0.0)) | (high & (step > 0.0)))
            if not beyond.any():
                break
            free &= ~beyond
        return step

    def _evaluated(self, q: Vector) -> _Configuration:
        robot, problem = self._robot, self._problem
        rows = slice(0, 3 if problem.options.position_only else 6)
        units = self._units[rows]
        errors, gaps, jacobians = [], [], []
        for frame, target in zip(problem.chain.frames, problem.targets, strict=True):
            errors.append(units * pose_error(target, robot.forward_kinematics(q, frame))[rows])
            jacobians.append(units[:, None] * robot.jacobian(q, frame)[rows])
        for loop in self._loops:
            units = self._units[: loop.rows]
            gaps.append(-units * loop.residual(robot, q))
            jacobians.append(units[:, None] * loop.jacobian(robot, q))
        return _Configuration(
            q, np.concatenate(errors), np.concatenate(gaps), np.concatenate(jacobians)
        )
