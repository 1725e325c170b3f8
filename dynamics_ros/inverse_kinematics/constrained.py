# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of a robot with closed loops, or with frames that support it.

Loops and supports are constraints, which have priority: steps for the targets are in their null
space ([RD] eq. 2.276). The steps are damped [Sugihara2011] and of limited length, so that a search
from a closed configuration rarely changes the way in which the mechanism is assembled. The starts
after the seed move away from it little by little.
"""

from __future__ import annotations

from collections.abc import Sequence
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
"""Largest error of a constraint, relative to the chain's length, or in rad."""

IDLE = 5
"""Number of consecutive steps without a reduction of the error that end a search."""

NEARER_STARTS = 10
"""Number of starts until one may be anywhere within the limits."""

DAMPING_FLOOR = 1e-12
"""Keeps the equations of a step definite where constraints are redundant."""


class _Configuration(NamedTuple):
    """A configuration q (nq), errors with lengths over the chain's length, and their Jacobians.

    Errors e, A of the targets, and c, C of the constraints.
    """

    q: Vector
    e: Vector
    A: Vector
    c: Vector
    C: Vector

    @property
    def closed(self) -> bool:
        """Whether the constraints hold."""
        return bool(np.abs(self.c).max(initial=0.0) <= CLOSED)


def solve_constrained(
    problem: Problem, deadline: Deadline, began: float
) -> InverseKinematicsResult:
    """Configuration of all joints that brings the frames to their targets.

    Args:
        problem: the problem; its robot has loops, or its options have supports.
        deadline: time to stop; the search from the seed is completed.
        began: start time of the problem, on ``time.perf_counter`` [s].

    Raises:
        InvalidArgumentError: an option that applies to other problems alone.
    """
    options = problem.options
    for name in ('slack', 'joint_weights', 'posture'):
        if getattr(options, name) is not None:
            expected = 'None for a robot with closed loops or supports'
            raise InvalidArgumentError(name, 'given', expected)
    robot, seed, rng = problem.robot, problem.q, np.random.default_rng(options.random_seed)
    search = _Search(problem)
    steps, reason, closest = 0, STALLED, None
    beyond = problem.out_of_reach()
    for k in range(1 if beyond else options.max_restarts + 1):
        start = seed
        if k:
            share = min(k / NEARER_STARTS, 1.0)
            start = robot.interpolate(seed, robot.random_configuration(rng), share)
            start[: robot.model.root_joint_nq] = seed[: robot.model.root_joint_nq]
        end, taken = search.run(np.clip(start, *search.limits), with_targets=True)
        steps += taken
        if not end.closed:
            end, taken = search.run(end.q, with_targets=False)
            steps += taken
        if end.closed:
            candidate = _candidate(problem, end)
            if candidate.solves:
                if options.collisions is None or not options.collisions.in_collision(candidate.q):
                    return problem.result(candidate, steps, CONVERGED, began)
                reason = COLLIDING
            if closest is None or end.e @ end.e < closest.e @ closest.e:
                closest = end
        if deadline.passed():
            reason = TIMED_OUT if reason == STALLED else reason
            break
    if beyond and reason != COLLIDING:
        reason = UNREACHABLE
    closest = search.evaluated(seed) if closest is None else closest
    return problem.result(_candidate(problem, closest), steps, reason, began)


def _candidate(problem: Problem, end: _Configuration) -> Candidate:
    """Configuration with joints turned near to the seed, and its errors; whether it is a solution.

    The steps keep the limits.
    """
    q = end.q.copy()
    q[problem.chain.q_index] = problem.turned(q[problem.chain.q_index])
    frames = zip(problem.chain.frames, problem.targets, strict=True)
    errors = np.array(
        [pose_error(X, problem.robot.forward_kinematics(q, frame)) for frame, X in frames]
    )
    position, rotation = np.linalg.norm(errors.reshape(-1, 2, 3), axis=2).max(axis=0).tolist()
    return problem.judged(q[problem.chain.q_index], q, position, rotation, end.closed)


class _Search:
    """Steps of all joints that may move, for one problem.

    Attributes:
        limits: (2, nq) ends of the ranges; locked joints are between their values at the seed.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._robot = problem, problem.robot
        robot, model, length = problem.robot, problem.robot.model, problem.chain.length
        self._loops = loops_of(robot)
        self._supports = [
            (name, rows, robot.forward_kinematics(problem.q, name))
            for name, rows in problem.chain.supports
        ]
        self._units = np.array([1.0 / length] * 3 + [1.0] * 3)
        self.limits = np.full((2, robot.nq), np.inf) * [[-1.0], [1.0]]
        self.limits[:, model.root_joint_nq :] = robot.lower_limits, robot.upper_limits
        self._free = np.zeros(robot.nv, dtype=bool)
        self._scale = np.ones(robot.nv)
        # Limits of the velocities of joints of one coordinate.
        self._at = np.zeros(robot.nv, dtype=np.intp)
        self._bounded = np.zeros(robot.nv, dtype=bool)
        root = model.joints[:1] if self._supports else ()
        for joint in (*root, *model.actuated):
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
        best = current = self.evaluated(q)
        least, idle, steps = np.inf, 0, 0
        while steps < STEPS and idle < IDLE:
            x = current
            if not with_targets:
                x = x._replace(e=x.e[:0], A=x.A[:0])
            cost = float(x.e @ x.e + x.c @ x.c)
            idle = 0 if cost < 0.99 * least else idle + 1
            if cost < least:
                best, least = current, cost
            if least <= (0.1 * CLOSED) ** 2:
                break
            step = self._step(x)
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step / self._scale).max()), 1e-12))
            moved = self._robot.integrate(x.q, step)
            current, steps = self.evaluated(np.clip(moved, *self.limits)), steps + 1
        return best, steps

    def _step(self, x: _Configuration) -> Vector:
        """Damped step (nv) in which no joint at a limit moves beyond it."""
        free, step = self._free.copy(), np.zeros(len(self._free))
        position, (lower, upper) = x.q[self._at], self.limits[:, self._at]
        low, high = self._bounded & (position <= lower), self._bounded & (position >= upper)
        while free.any():
            scale = self._scale[free]
            A, C = x.A[:, free] * scale, x.C[:, free] * scale
            inverse = _damped_inverse(C, float(x.c @ x.c))
            d, null = inverse @ x.c, np.eye(len(scale)) - inverse @ C
            d = d + null @ (_damped_inverse(A @ null, float(x.e @ x.e)) @ (x.e - A @ d))
            step[:] = 0.0
            step[free] = scale * d
            beyond = free & ((low & (step < 0.0)) | (high & (step > 0.0)))
            if not beyond.any():
                break
            free &= ~beyond
        return step

    def evaluated(self, q: Vector) -> _Configuration:
        """Errors at a configuration (nq)."""
        robot, problem = self._robot, self._problem
        rows = 3 if problem.options.position_only else 6
        targets = zip(problem.chain.frames, problem.targets, strict=True)
        errors = [(self._error(q, frame, X)[:rows], frame) for frame, X in targets]
        kept = [(self._error(q, frame, X)[:k], frame) for frame, k, X in self._supports]
        e, A = self._stacked([(error, robot.jacobian(q, frame)) for error, frame in errors])
        c, C = self._stacked(
            [(error, robot.jacobian(q, frame)) for error, frame in kept]
            + [(-loop.residual(robot, q), loop.jacobian(robot, q)) for loop in self._loops]
        )
        return _Configuration(q, e, A, c, C)

    def _error(self, q: Vector, frame: str, X: Vector) -> Vector:
        return pose_error(X, self._robot.forward_kinematics(q, frame))

    def _stacked(self, parts: Sequence[tuple[Vector, Vector]]) -> tuple[Vector, Vector]:
        """Errors (m) and Jacobians (m, nv), with lengths over the chain's length."""
        units = [self._units[: len(error)] for error, _ in parts]
        errors = [u * error for u, (error, _) in zip(units, parts, strict=True)]
        rows = [u[:, None] * J[: len(u)] for u, (_, J) in zip(units, parts, strict=True)]
        return np.concatenate(errors), np.vstack(rows)


def _damped_inverse(A: Vector, cost: float) -> Vector:
    """Inverse (n, m) of A (m, n), damped by a squared error ([RD] eq. 2.207)."""
    damping = DAMPING * cost + DAMPING_FLOOR
    m, n = A.shape
    if m < n:
        return np.asarray(np.linalg.solve(A @ A.T + damping * np.eye(m), A).T)
    return np.asarray(np.linalg.solve(A.T @ A + damping * np.eye(n), A.T))
