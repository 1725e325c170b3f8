# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics with restarts: one solution, or all that can be told apart."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TypedDict

from numpy.typing import ArrayLike

from dynamics_ros.multibody.arguments import check_count, check_flag, check_positive
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .analytic import closed_form_of, closed_form_solutions
from .problem import Placed, Problem, Wishes
from .result import CONVERGED, STALLED, TIMED_OUT, UNREACHABLE, InverseKinematicsResult
from .search import Deadline, End, Vector
from .solutions import Solutions

SAME_APPROACH = 0.05
"""Descents whose final squared errors agree this well (relative) ended at one closest approach."""

AGREEING = 3
"""So many descents to the same closest approach speak for a target out of reach; as more of them
do, to whatever approach, that leave the rotation free and yet come to no place near the target."""

ROTATION_OF_APPROACH = 0.1
"""Weight of the rotation in a descent where the place can be reached, but not so turned."""

ROTATION_AT_PLACE = 0.03
"""The same where it cannot, times the distance over the chain's length: half a turn then costs less
than half a percent of the distance."""

DESCENTS, STARTS_BY_PLACE = 8, 6
"""How many of the most promising ends of searches are followed to the bottom, and how many places
that are near the target but for the rotation."""

SEPARATION = 0.1
"""rad or m: solutions of a search that are closer in every joint count as one found twice."""

SEARCHING = 0.8
"""Share of the time for finding a solution; the rest is for the closest approach."""


class SearchOptions(TypedDict, total=False):
    """Options that ``solve`` and ``solve_all`` share, as ``solve`` explains them."""

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
    """Options of ``solve``, as it explains them."""

    supports: Mapping[str, str] | None
    approximate: bool


class SolveAllOptions(SearchOptions, total=False):
    """Options of ``solve_all``, as it explains them."""

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
    """Joint positions that bring a frame to a pose: [RD] 2.9.3 with damping, limits and restarts.

    The search starts at the seed, then at other places spread over the joint ranges, the same ones
    in every call, those near the target first, until one arrives. A floating or planar root keeps
    its place unless there are supports.

    Args:
        robot: the robot.
        target: (4, 4) wanted pose of the frame in the root frame; (m, 4, 4) for several frames.
        frame: name of the frame to bring there, or m names to be brought there together.
        seed: (nq) where to start, projected onto the limits; None is the centre of the ranges.
            Joints that do not move the frame keep their values of the seed.
        position_tolerance: m.
        rotation_tolerance: rad.
        position_only: leave the rotation free.
        slack: (6) how far off still counts as there, along and about the axes of the target
            [m, rad]; inf leaves a direction free. None is zero.
        joint_weights: by name, how dear a joint's moves are; 1 for others, inf locks a joint.
        locked_joints: names of joints that keep their values of the seed.
        posture: (nq) what the joints come as near to as the target lets them: 'seed' for no more
            motion than needed, 'centre' for the middle of the limits; None for no preference.
        supports: frames that stay where the seed has them while the root moves, [RD] 2.10.5, each
            with 'point' for its position or 'surface' for its pose. They come before the targets:
            what is approximate keeps them.
        timeout: s, on the wall clock; setting up a robot's first problem does not count. A tenth of
            it is assured on the processor, however long other processes keep the search waiting.
        max_restarts: starts after the seed.
        approximate: give the closest configuration where there is no solution.
        random_seed: another one is another sequence of starts.

    Returns:
        The solution, or why there is none.

    Raises:
        InvalidArgumentError: an argument is of the wrong shape, not finite, or out of range.
    """
    wishes = Wishes(
        position_tolerance,
        rotation_tolerance,
        position_only,
        slack,
        joint_weights,
        locked_joints,
        posture,
    )
    problem = Problem(robot, target, frame, seed, wishes, supports)
    check_positive('timeout', timeout)
    check_count('max_restarts', max_restarts, least=0)
    check_count('random_seed', random_seed, least=0)
    check_flag('approximate', approximate)
    closed_form = closed_form_of(problem)
    began = time.perf_counter()
    hopeless = False
    if closed_form is not None:
        branches, hopeless = closed_form_solutions(closed_form, problem, began, most=1)
        if branches:
            return branches[0]
    # Most problems are solved from the seed, as machine code before a clock has been looked at.
    clock = None if problem.search.compiled else Deadline.after(began, SEARCHING, timeout)
    end = problem.run(problem.start, clock)
    steps, ends = 0, []
    out_of_reach = False
    restarts = None
    while True:
        steps += end.steps
        answer = problem.confirmed(end.positions) if end.arrived else None
        if answer is not None:
            if posture is not None:
                answer = _settled(problem, answer, Deadline.after(began, 1.0, timeout))
            return problem.result(answer, steps, CONVERGED, began)
        ends.append(end)
        if restarts is None:
            out_of_reach = hopeless or problem.out_of_reach()
            # Then only the closest approach is looked for, from a few starts.
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
    # The place comes before the orientation, which counts where the place can be reached.
    descents = _descents(problem, starts, 0.0, deadline)
    closest = min(descents, key=lambda end: end.cost)
    steps += sum(end.steps for end in descents)
    away = math.sqrt(closest.cost)
    place_missed = away * problem.chain.length > position_tolerance
    if not place_missed:
        descents = _descents(problem, starts, ROTATION_OF_APPROACH, deadline)
        closest = min(descents, key=lambda end: end.cost)
        steps += sum(end.steps for end in descents)
    alike = sum(end.cost <= (1.0 + SAME_APPROACH) * closest.cost for end in descents)
    if out_of_reach or alike >= AGREEING or (place_missed and len(descents) > DESCENTS):
        reason = UNREACHABLE
    else:
        reason = STALLED if len(ends) > max_restarts else TIMED_OUT
    positions = closest.positions
    if place_missed and not position_only:
        turned = _descents(problem, [positions], ROTATION_AT_PLACE * away, deadline)[0]
        positions, steps = turned.positions, steps + turned.steps
    placed = problem.closest(positions, deadline)
    return problem.result(placed, steps, reason, began, known=approximate)


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
    """Distinct solutions, the nearest to the seed first.

    Every start that arrives gives one; those closer than ``min_separation`` in every joint to one
    already found are dropped. A redundant arm has a continuum of solutions, of which these are
    samples; with a joint locked it has as many as others.

    Args:
        robot, target, frame, seed: as for ``solve``; solutions are ranked by the distance to the
            seed.
        position_tolerance, rotation_tolerance, position_only, slack: as for ``solve``.
        joint_weights, locked_joints, posture: as for ``solve``.
        timeout: s for all of them together.
        max_restarts: starts after the seed.
        max_solutions: how many to return at most.
        min_separation: rad or m, in at least one joint. None is ``SEPARATION`` for a search; a
            closed form tells apart what is not the same but for rounding.
        random_seed: another one is another sequence of starts.

    Returns:
        Confirmed solutions; empty when none was found (``solve`` says why).

    Raises:
        InvalidArgumentError: an argument is of the wrong shape, not finite, or out of range.
    """
    wishes = Wishes(
        position_tolerance,
        rotation_tolerance,
        position_only,
        slack,
        joint_weights,
        locked_joints,
        posture,
    )
    problem = Problem(robot, target, frame, seed, wishes)
    check_positive('timeout', timeout)
    check_count('max_restarts', max_restarts, least=0)
    check_count('max_solutions', max_solutions, least=1)
    check_count('random_seed', random_seed, least=0)
    if min_separation is not None:
        check_positive('min_separation', min_separation)
    closed_form = closed_form_of(problem)
    began = time.perf_counter()
    if closed_form is not None:
        branches, hopeless = closed_form_solutions(
            closed_form, problem, began, max_solutions, min_separation
        )
        if branches or hopeless:
            return branches
    apart = min_separation or SEPARATION
    deadline = Deadline.after(began, 1.0, timeout)
    found: list[tuple[Placed, int]] = []
    count = 0 if problem.out_of_reach() else max_restarts
    for positions in (problem.start, *problem.restarts(count, random_seed)):
        end = problem.run(positions, deadline)
        answer = problem.confirmed(end.positions) if end.arrived else None
        if answer is not None:
            if posture is not None:
                answer = _settled(problem, answer, deadline)
            if all(
                problem.chain.separation(answer.positions, other.positions) > apart
                for other, _ in found
            ):
                found.append((answer, end.steps))
        if deadline.passed():
            break
    found.sort(key=lambda entry: math.dist(entry[0].positions, problem.start))
    del found[max_solutions:]
    return Solutions.of_search(problem, found, began)


def _descents(
    problem: Problem, starts: Sequence[Vector], rotation: float, deadline: Deadline
) -> list[End]:
    """Where descents from some places end; at least the first one is made."""
    found: list[End] = []
    for positions in starts:
        found.append(problem.search.approach(positions, problem.in_root_link, rotation, deadline))
        if deadline.passed():
            break
    return found


def _settled(problem: Problem, answer: Placed, deadline: Deadline) -> Placed:
    """The solution nearest the liked posture, if it holds."""
    end = problem.search.settle(answer.positions, problem.in_root_link, deadline)
    settled = problem.confirmed(end.positions) if end.arrived else None
    return settled or answer
