# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics by local search with restarts: one solution, or all distinct ones."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.collision import Collisions
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_count, check_positive
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .analytic import closed_form_of, closed_form_solutions
from .in_loops import solve_in_loops
from .problem import Candidate, Problem, ProblemOptions
from .result import COLLIDING, CONVERGED, STALLED, TIMED_OUT, UNREACHABLE, InverseKinematicsResult
from .search import Deadline, End, Vector
from .solutions import Solutions

SAME_APPROACH = 0.05
"""Relative difference of final costs below which descents count as the same closest approach."""

AGREEING_DESCENTS = 3
"""Number of descents with the same closest approach from which a target counts as out of reach. It
also counts as such if more than ``DESCENTS`` descents without rotation miss its position."""

ROTATION_OF_APPROACH = 0.1
"""Weight of the rotation in a descent with supports, if the position can be reached."""

ROTATION_AT_PLACE = 0.03
"""Weight of the rotation in a descent if the position cannot be reached, times its distance over
the chain's length. An error of half a turn then costs less than half a percent of the distance."""

DESCENTS, STARTS_BY_PLACE = 8, 6
"""Number of descents from the best ends of searches, and from starts sorted by position alone."""

PLACES = 48
"""Number of solutions of the position, of which ``DESCENTS`` with the smallest rotation errors are
improved."""

SEPARATION = 0.1
"""Difference of each joint below which two solutions of a search count as the same [rad or m]."""

CLOSED_FORM_BRANCHES = 64
"""Largest number of solutions of a closed form that are tested for collisions."""

FREEING_STEPS, FREEING_DISTANCE, FREEING_CLEARANCE = 6, 0.05, 0.005
"""Number of steps that move a redundant arm out of a collision, the distance of the pairs that they
consider [m], and the distance beyond the margin that they aim at [m]."""

FREEING_DAMPING, FREEING_LIMIT = 0.05, 0.3
"""Damping of such a step, relative to Jacobians of about 1 m, and its largest joint motion [rad or
m]."""

SEARCHING = 0.8
"""Fraction of the timeout for finding a solution; the rest is for the closest approach."""


class SearchOptions(TypedDict, total=False):
    """Options shared by ``solve`` and ``solve_all``; see ``solve``."""

    position_tolerance: float
    rotation_tolerance: float
    position_only: bool
    slack: ArrayLike | None
    joint_weights: Mapping[str, float] | None
    locked_joints: Collection[str]
    posture: ArrayLike | str | None
    collisions: Collisions | None
    timeout: float
    max_restarts: int
    random_seed: int


class SolveOptions(SearchOptions, total=False):
    """Options of ``solve``; see there."""

    supports: Mapping[str, str] | None


class SolveAllOptions(SearchOptions, total=False):
    """Options of ``solve_all``; see there."""

    max_solutions: int
    min_separation: float | None


def solve(
    robot: RigidBodySystem,
    target: ArrayLike,
    frame: str | Sequence[str],
    seed: ArrayLike | None = None,
    *,
    position_tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-5,
    position_only: bool = False,
    slack: ArrayLike | None = None,
    joint_weights: Mapping[str, float] | None = None,
    locked_joints: Collection[str] = (),
    posture: ArrayLike | str | None = None,
    supports: Mapping[str, str] | None = None,
    collisions: Collisions | None = None,
    timeout: float = 0.05,
    max_restarts: int = 200,
    random_seed: int = 0,
) -> InverseKinematicsResult:
    """Finds joint positions that bring a frame to a pose ([RD] 2.9.3, damped, with restarts).

    The search starts at the seed, then at points spread over the joint ranges, sorted by distance
    to the target and the same in every call, until one search converges. A floating or planar root
    stays at its seed unless supports are given. A solution of a robot with ``loops`` closes them;
    joints that do not move the frame move too, and starts are spread about the seed.

    Args:
        robot: the robot.
        target: (4, 4) target pose in the root frame, (position, quaternion x y z w) or these seven
            numbers; m poses for several frames.
        frame: name of the frame to bring to the target, or m names for simultaneous targets.
        seed: (nq) first start, projected onto the limits; None is the center of the ranges.
            Joints that do not move the frame keep their seed values; without a seed they get those
            of ``robot.nominal()``, within their limits.
        position_tolerance: accepted distance from the target [m].
        rotation_tolerance: accepted angle from the target [rad].
        position_only: leave the rotation free.
        slack: (6) accepted deviation along and about the axes of the target [m, rad]; inf leaves
            a direction free. None is zero.
        joint_weights: motion cost by joint name; 1 for other joints, inf locks a joint.
        locked_joints: names of joints that keep their seed values, also somewhat beyond limits.
        posture: (nq) preferred configuration, approached as far as the target allows; 'seed'
            minimizes the motion, 'centre' is the middle of the limits, None is no preference.
        supports: frames that keep their seed pose while the root moves ([RD] 2.10.5), each with
            'point' for its position or 'surface' for its pose. They have priority over the
            targets, also if there is no solution.
        collisions: links and obstacles that a solution keeps apart; None: not checked.
        timeout: s, wall clock, without the setup of a robot's first problem. A tenth of it is
            guaranteed as processor time, even if other processes delay the search.
        max_restarts: number of starts after the seed.
        random_seed: selects the sequence of starts.

    Returns:
        The solution, or the closest configuration and the reason of the failure. If all solutions
        that were found are in collision, it is one of these. Otherwise the
        position comes first, and the rotation error is the smallest that was found at the position.
        With supports, which come before both, a rotation error of 1 rad weighs as much as a tenth
        of the spread of the frame's positions.

    Raises:
        InvalidArgumentError: an argument has a wrong shape, is not finite or is out of range; a
            locked joint is far beyond its limits, or only its position beyond them excludes a
            solution.
    """
    options = ProblemOptions(
        position_tolerance,
        rotation_tolerance,
        position_only,
        slack,
        joint_weights,
        locked_joints,
        posture,
    )
    problem = Problem(robot, target, frame, seed, options, supports)
    check_positive('timeout', timeout)
    check_count('max_restarts', max_restarts, least=0)
    check_count('random_seed', random_seed, least=0)
    if collisions is not None:
        Collisions.check_robot(collisions, robot)
    began = time.perf_counter()
    if robot.model.loops:
        if supports:
            raise InvalidArgumentError('supports', 'given', 'None for a robot with closed loops')
        until = Deadline.after(began, 1.0, timeout)
        return solve_in_loops(problem, until, began, max_restarts, random_seed, collisions)
    closed_form = closed_form_of(problem)
    colliding: Candidate | None = None
    unreachable = False
    if closed_form is not None:
        most = 1 if collisions is None else CLOSED_FORM_BRANCHES
        branches, unreachable = closed_form_solutions(closed_form, problem, began, most)
        for branch in branches:
            if collisions is None or not collisions.in_collision(branch.q):
                return branch
        if branches:
            colliding = problem.candidate(branches[0].q[problem.chain.q_index])
            if closed_form.exact:  # there are no others
                return problem.result(colliding, 0, COLLIDING, began)
    # Machine code solves most problems from the seed, before the clock is checked.
    clock = None if problem.search.compiled else Deadline.after(began, SEARCHING, timeout)
    end = problem.run(problem.start, clock)
    whole = Deadline.after(began, 1.0, timeout)
    steps, ends = 0, []
    out_of_reach = False
    restarts = None
    while True:
        steps += end.steps
        solution = problem.confirmed(end.positions) if end.arrived else None
        if solution is not None:
            if posture is not None:
                solution = _settled(problem, solution, whole, collisions)
            free = _free(problem, solution, whole, collisions)
            if free is not None:
                return problem.result(free, steps, CONVERGED, began)
            colliding = colliding or solution
        ends.append(end)
        if restarts is None:
            out_of_reach = unreachable or problem.out_of_reach()
            # Out of reach: only the closest approach is searched, from a few starts.
            count = min(max_restarts, DESCENTS) if out_of_reach else max_restarts
            restarts = problem.restarts(count, random_seed)
            until = Deadline.after(began, SEARCHING, timeout)
            clock = None if problem.search.compiled else until
        positions = None if until.passed() else next(restarts, None)
        if positions is None:
            break
        end = problem.run(positions, clock)

    if colliding is not None:
        return problem.result(colliding, steps, COLLIDING, began)
    deadline = Deadline.after(began, 1.0, timeout)
    ends.sort(key=lambda end: end.cost)
    starts = [end.positions for end in ends[:DESCENTS]]
    starts += problem.restarts(min(STARTS_BY_PLACE, max_restarts), random_seed, by_place=True)
    # The position has priority; the rotation counts only if the position can be reached.
    descents: list[End] = []
    if not position_only and not problem.out_of_reach():
        more = problem.restarts(max_restarts, random_seed, by_place=True)
        descents = _turned(problem, [problem.start, *starts[:DESCENTS]], more, deadline)
    distance, position_missed = 0.0, not descents
    if position_missed:
        descents = _descents(problem, starts, 0.0, deadline)
    closest = min(descents, key=lambda end: end.cost)
    steps += sum(end.steps for end in descents)
    if position_missed:
        distance = math.sqrt(closest.cost)
        position_missed = distance * problem.chain.length > position_tolerance
    if not position_missed and problem.chain.supports:
        descents = _descents(problem, starts, ROTATION_OF_APPROACH, deadline)
        closest = min(descents, key=lambda end: end.cost)
        steps += sum(end.steps for end in descents)
    if (
        out_of_reach
        or _agreeing(descents) >= AGREEING_DESCENTS
        or (position_missed and len(descents) > DESCENTS)
    ):
        reason = UNREACHABLE
    else:
        reason = STALLED if len(ends) > max_restarts else TIMED_OUT
    if problem.beyond and reason != TIMED_OUT:
        limits = {'timeout': timeout, 'max_restarts': max_restarts, 'random_seed': random_seed}
        _check_locked(problem, frame, options, supports=supports, **limits)
    positions = closest.positions
    if position_missed and not position_only:
        rotated = _descents(problem, [positions], ROTATION_AT_PLACE * distance, deadline)[0]
        positions, steps = rotated.positions, steps + rotated.steps
    candidate = problem.closest(positions, deadline)
    return problem.result(candidate, steps, reason, began)


def solve_all(
    robot: RigidBodySystem,
    target: ArrayLike,
    frame: str | Sequence[str],
    seed: ArrayLike | None = None,
    *,
    position_tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-5,
    position_only: bool = False,
    slack: ArrayLike | None = None,
    joint_weights: Mapping[str, float] | None = None,
    locked_joints: Collection[str] = (),
    posture: ArrayLike | str | None = None,
    collisions: Collisions | None = None,
    timeout: float = 0.2,
    max_restarts: int = 200,
    max_solutions: int = 16,
    min_separation: float | None = None,
    random_seed: int = 0,
) -> Solutions:
    """Finds the distinct solutions, sorted by distance from the seed.

    Each start that converges gives one solution; solutions closer than ``min_separation`` in every
    joint to an earlier one are dropped. A redundant arm has a continuum of solutions, of which
    these are samples; with enough locked joints the number is finite.

    Args:
        robot, target, frame, seed: see ``solve``.
        position_tolerance, rotation_tolerance, position_only, slack: see ``solve``.
        joint_weights, locked_joints, posture, collisions: see ``solve``.
        timeout: total time [s].
        max_restarts: number of starts after the seed.
        max_solutions: maximum number of solutions.
        min_separation: minimum difference in at least one joint [rad or m]. None is ``SEPARATION``
            for a search; a closed form only merges solutions that are equal up to rounding.
        random_seed: selects the sequence of starts.

    Returns:
        Confirmed solutions; empty if none was found (``solve`` gives the reason).

    Raises:
        InvalidArgumentError: an argument has a wrong shape, is not finite or is out of range.
    """
    options = ProblemOptions(
        position_tolerance,
        rotation_tolerance,
        position_only,
        slack,
        joint_weights,
        locked_joints,
        posture,
    )
    problem = Problem(robot, target, frame, seed, options)
    if robot.model.loops:
        expected = 'one without, or inverse_kinematics, which finds one solution'
        raise InvalidArgumentError('robot', 'has closed loops', expected)
    check_positive('timeout', timeout)
    check_count('max_restarts', max_restarts, least=0)
    check_count('max_solutions', max_solutions, least=1)
    check_count('random_seed', random_seed, least=0)
    if min_separation is not None:
        check_positive('min_separation', min_separation)
    if collisions is not None:
        Collisions.check_robot(collisions, robot)
    closed_form = closed_form_of(problem)
    began = time.perf_counter()
    if closed_form is not None:
        most = max_solutions if collisions is None else CLOSED_FORM_BRANCHES
        branches, unreachable = closed_form_solutions(
            closed_form, problem, began, most, min_separation
        )
        if branches or unreachable:
            if collisions is None:
                return branches
            return branches.where(lambda q: not collisions.in_collision(q), max_solutions)
    separation = min_separation or SEPARATION
    deadline = Deadline.after(began, 1.0, timeout)
    found: list[tuple[Candidate, int]] = []
    count = 0 if problem.out_of_reach() else max_restarts
    for positions in (problem.start, *problem.restarts(count, random_seed)):
        end = problem.run(positions, deadline)
        solution = problem.confirmed(end.positions) if end.arrived else None
        if solution is not None:
            if posture is not None:
                solution = _settled(problem, solution, deadline, collisions)
            solution = _free(problem, solution, deadline, collisions)
        if solution is not None and all(
            problem.chain.separation(solution.positions, other.positions) > separation
            for other, _ in found
        ):
            found.append((solution, end.steps))
        if deadline.passed():
            break
    if problem.beyond and not found and not deadline.passed():
        limits = {'timeout': timeout, 'max_restarts': max_restarts, 'random_seed': random_seed}
        _check_locked(problem, frame, options, **limits)
    found.sort(key=lambda entry: math.dist(entry[0].positions, problem.start))
    del found[max_solutions:]
    return Solutions.of_search(problem, found, began)


def _check_locked(
    problem: Problem, frame: str | Sequence[str], options: ProblemOptions, **limits: Any
) -> None:
    """Refuse a problem that has a solution only with locked joints within their limits."""
    seed = problem.within_limits()
    target = problem.targets[0 if isinstance(frame, str) else slice(len(frame))]
    if solve(problem.robot, target, frame, seed, **options._asdict(), **limits).success:
        names = ', '.join(map(repr, problem.beyond))
        where = f'no solution with {names} beyond its limits, where the seed has it'
        raise InvalidArgumentError('locked_joints', where, 'a seed within the limits')


def _descents(
    problem: Problem, starts: Sequence[Vector], rotation: float, deadline: Deadline
) -> list[End]:
    """Ends of descents from the given starts until the deadline; at least one descent is made."""
    ends: list[End] = []
    for positions in starts:
        ends.append(problem.search.approach(positions, problem.in_root_link, rotation, deadline))
        if deadline.passed():
            break
    return ends


def _turned(
    problem: Problem, starts: Sequence[Vector], more: Iterable[Vector], deadline: Deadline
) -> list[End]:
    """Ends of descents of the rotation from solutions of the position; empty if there are none.

    Args:
        problem: a problem; none of these solve it if it has supports.
        starts: first starts.
        more: further starts, for as long as there are fewer solutions than wanted.
        deadline: time to stop.
    """
    if problem.chain.supports:
        return []
    place, targets = problem.search.of_positions(), problem.in_root_link
    # Plain Python has time for a few.
    clock, most = (None, PLACES) if place.compiled else (deadline, AGREEING_DESCENTS)
    solutions: list[Vector] = []
    for positions in chain(starts, more):
        end = place.run(positions, targets, clock)
        if end.arrived:
            solutions.append(end.positions)
        if len(solutions) == most or deadline.passed():
            break
    solutions.sort(key=lambda positions: problem.candidate(positions).rotation_error)
    ends: list[End] = []
    for positions in solutions[:DESCENTS]:
        ends.append(problem.search.turn(positions, targets, place, deadline))
        if deadline.passed() or _agreeing(ends) >= AGREEING_DESCENTS:
            break
    return ends


def _agreeing(ends: Sequence[End]) -> int:
    """Number of ends with nearly the smallest cost."""
    least = min(end.cost for end in ends)
    return sum(end.cost <= (1.0 + SAME_APPROACH) * least for end in ends)


def _settled(
    problem: Problem, solution: Candidate, deadline: Deadline, collisions: Collisions | None
) -> Candidate:
    """Solution moved towards the preferred posture if the checks confirm it, else ``solution``."""
    end = problem.search.settle(solution.positions, problem.in_root_link, deadline)
    settled = problem.confirmed(end.positions) if end.arrived else None
    if settled is None or (collisions is not None and collisions.in_collision(settled.q)):
        return solution
    return settled


def _free(
    problem: Problem, solution: Candidate, deadline: Deadline, collisions: Collisions | None
) -> Candidate | None:
    """Solution without collision: the given one, or one that a redundant arm reaches from it.

    A step increases the distances of close pairs, damped ([Faverjon1987]); a search from there
    returns to the target.
    """
    if collisions is None or not collisions.in_collision(solution.q):
        return solution
    chain = problem.chain
    rows = (3 if problem.options.position_only else 6) * len(problem.targets)
    if chain.supports or len(solution.positions) <= rows:
        return None
    for _ in range(FREEING_STEPS):
        within = collisions.margin + FREEING_DISTANCE
        found, J = collisions.distance_jacobian(solution.q, within)
        J, apart = J[:, chain.v_index], found.distance
        if problem.locked is not None:
            J = np.where(problem.locked, 0.0, J)
        wanted = np.maximum(collisions.margin + FREEING_CLEARANCE - apart, 0.0)
        regular = J @ J.T + FREEING_DAMPING**2 * np.eye(len(J))
        step = J.T @ np.linalg.solve(regular, wanted)
        step *= min(1.0, FREEING_LIMIT / max(float(np.abs(step).max()), 1e-12))
        end = problem.run(np.clip(solution.positions + step, *problem.bounds[:2]), deadline)
        moved = problem.confirmed(end.positions) if end.arrived else None
        if moved is None or deadline.passed():
            return None
        solution = moved
        if not collisions.in_collision(solution.q):
            return solution
    return None
