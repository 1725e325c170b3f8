# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics by local search with restarts: one solution, or all distinct ones."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TypedDict

from numpy.typing import ArrayLike

from dynamics_ros.multibody.arguments import check_count, check_flag, check_positive
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .analytic import closed_form_of, closed_form_solutions
from .problem import Candidate, Problem, ProblemOptions
from .result import CONVERGED, STALLED, TIMED_OUT, UNREACHABLE, InverseKinematicsResult
from .search import Deadline, End, Vector
from .solutions import Solutions

SAME_APPROACH = 0.05
"""Relative difference of final costs below which descents count as the same closest approach."""

AGREEING_DESCENTS = 3
"""Number of descents with the same closest approach from which a target counts as out of reach. It
also counts as such if more than ``DESCENTS`` descents without rotation miss its position."""

ROTATION_OF_APPROACH = 0.1
"""Weight of the rotation in a descent if the position can be reached, but not the rotation."""

ROTATION_AT_PLACE = 0.03
"""Weight of the rotation in a descent if the position cannot be reached, times its distance over
the chain's length. An error of half a turn then costs less than half a percent of the distance."""

DESCENTS, STARTS_BY_PLACE = 8, 6
"""Number of descents from the best ends of searches, and from starts sorted by position alone."""

SEPARATION = 0.1
"""Difference of each joint below which two solutions of a search count as the same [rad or m]."""

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
    timeout: float
    max_restarts: int
    random_seed: int


class SolveOptions(SearchOptions, total=False):
    """Options of ``solve``; see there."""

    supports: Mapping[str, str] | None
    approximate: bool


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
    timeout: float = 0.05,
    max_restarts: int = 200,
    approximate: bool = False,
    random_seed: int = 0,
) -> InverseKinematicsResult:
    """Finds joint positions that bring a frame to a pose ([RD] 2.9.3, damped, with restarts).

    The search starts at the seed, then at points spread over the joint ranges, sorted by distance
    to the target and the same in every call, until one search converges. A floating or planar root
    stays at its seed unless supports are given.

    Args:
        robot: the robot.
        target: (4, 4) target pose in the root frame; (m, 4, 4) for several frames.
        frame: name of the frame to bring to the target, or m names for simultaneous targets.
        seed: (nq) first start, projected onto the limits; None is the center of the ranges.
            Joints that do not move the frame keep their seed values.
        position_tolerance: accepted distance from the target [m].
        rotation_tolerance: accepted angle from the target [rad].
        position_only: leave the rotation free.
        slack: (6) accepted deviation along and about the axes of the target [m, rad]; inf leaves
            a direction free. None is zero.
        joint_weights: motion cost by joint name; 1 for other joints, inf locks a joint.
        locked_joints: names of joints that keep their seed values.
        posture: (nq) preferred configuration, approached as far as the target allows; 'seed'
            minimizes the motion, 'centre' is the middle of the limits, None is no preference.
        supports: frames that keep their seed pose while the root moves ([RD] 2.10.5), each with
            'point' for its position or 'surface' for its pose. They have priority over the
            targets, also in an approximate result.
        timeout: s, wall clock, without the setup of a robot's first problem. A tenth of it is
            guaranteed as processor time, even if other processes delay the search.
        max_restarts: number of starts after the seed.
        approximate: return the closest configuration if there is no solution.
        random_seed: selects the sequence of starts.

    Returns:
        The solution, or the reason of the failure.

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
    problem = Problem(robot, target, frame, seed, options, supports)
    check_positive('timeout', timeout)
    check_count('max_restarts', max_restarts, least=0)
    check_count('random_seed', random_seed, least=0)
    check_flag('approximate', approximate)
    closed_form = closed_form_of(problem)
    began = time.perf_counter()
    unreachable = False
    if closed_form is not None:
        branches, unreachable = closed_form_solutions(closed_form, problem, began, most=1)
        if branches:
            return branches[0]
    # Machine code solves most problems from the seed, before the clock is checked.
    clock = None if problem.search.compiled else Deadline.after(began, SEARCHING, timeout)
    end = problem.run(problem.start, clock)
    steps, ends = 0, []
    out_of_reach = False
    restarts = None
    while True:
        steps += end.steps
        solution = problem.confirmed(end.positions) if end.arrived else None
        if solution is not None:
            if posture is not None:
                solution = _settled(problem, solution, Deadline.after(began, 1.0, timeout))
            return problem.result(solution, steps, CONVERGED, began)
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

    deadline = Deadline.after(began, 1.0, timeout)
    ends.sort(key=lambda end: end.cost)
    starts = [end.positions for end in ends[:DESCENTS]]
    starts += problem.restarts(min(STARTS_BY_PLACE, max_restarts), random_seed, by_place=True)
    # The position has priority; the rotation counts only if the position can be reached.
    descents = _descents(problem, starts, 0.0, deadline)
    closest = min(descents, key=lambda end: end.cost)
    steps += sum(end.steps for end in descents)
    distance = math.sqrt(closest.cost)
    position_missed = distance * problem.chain.length > position_tolerance
    if not position_missed:
        descents = _descents(problem, starts, ROTATION_OF_APPROACH, deadline)
        closest = min(descents, key=lambda end: end.cost)
        steps += sum(end.steps for end in descents)
    agreeing = sum(end.cost <= (1.0 + SAME_APPROACH) * closest.cost for end in descents)
    if (
        out_of_reach
        or agreeing >= AGREEING_DESCENTS
        or (position_missed and len(descents) > DESCENTS)
    ):
        reason = UNREACHABLE
    else:
        reason = STALLED if len(ends) > max_restarts else TIMED_OUT
    positions = closest.positions
    if position_missed and not position_only:
        rotated = _descents(problem, [positions], ROTATION_AT_PLACE * distance, deadline)[0]
        positions, steps = rotated.positions, steps + rotated.steps
    candidate = problem.closest(positions, deadline)
    return problem.result(candidate, steps, reason, began, known=approximate)


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
        joint_weights, locked_joints, posture: see ``solve``.
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
    check_positive('timeout', timeout)
    check_count('max_restarts', max_restarts, least=0)
    check_count('max_solutions', max_solutions, least=1)
    check_count('random_seed', random_seed, least=0)
    if min_separation is not None:
        check_positive('min_separation', min_separation)
    closed_form = closed_form_of(problem)
    began = time.perf_counter()
    if closed_form is not None:
        branches, unreachable = closed_form_solutions(
            closed_form, problem, began, max_solutions, min_separation
        )
        if branches or unreachable:
            return branches
    separation = min_separation or SEPARATION
    deadline = Deadline.after(began, 1.0, timeout)
    found: list[tuple[Candidate, int]] = []
    count = 0 if problem.out_of_reach() else max_restarts
    for positions in (problem.start, *problem.restarts(count, random_seed)):
        end = problem.run(positions, deadline)
        solution = problem.confirmed(end.positions) if end.arrived else None
        if solution is not None:
            if posture is not None:
                solution = _settled(problem, solution, deadline)
            if all(
                problem.chain.separation(solution.positions, other.positions) > separation
                for other, _ in found
            ):
                found.append((solution, end.steps))
        if deadline.passed():
            break
    found.sort(key=lambda entry: math.dist(entry[0].positions, problem.start))
    del found[max_solutions:]
    return Solutions.of_search(problem, found, began)


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


def _settled(problem: Problem, solution: Candidate, deadline: Deadline) -> Candidate:
    """Solution moved towards the preferred posture if the check confirms it, else ``answer``."""
    end = problem.search.settle(solution.positions, problem.in_root_link, deadline)
    settled = problem.confirmed(end.positions) if end.arrived else None
    return settled or solution
