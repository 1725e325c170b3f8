# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics by closed form or local search with restarts: one solution, or all."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.algorithms.inverse_kinematics.solutions import EXACT, solvable_arm
from dynamics_ros.collision import Collisions
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import (
    POSE,
    pose_matrices,
    real_array,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .chain import ClosedForm, chain_of
from .in_loops import ends_in_loops, solve_in_loops
from .problem import Candidate, Options, Problem, SolveAllOptions, SolveOptions
from .result import (
    COLLIDING,
    CONVERGED,
    STALLED,
    TIMED_OUT,
    UNREACHABLE,
    InverseKinematicsResult,
    Solutions,
)
from .search import Deadline, End, Vector

if TYPE_CHECKING:
    from typing_extensions import Unpack

DEFAULTS = Options()

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

ALL_TIMEOUT = 0.2
"""Default timeout of a search for all solutions [s]."""

SEARCHING = 0.8
"""Fraction of the timeout for finding a solution; the rest is for the closest approach."""

BRANCH_SEPARATION = 1e-4
"""Difference of each joint below which two branches count as the same solution [rad]."""

RELIABLE = 1e-7
"""Smallest tolerance that rounding cannot exceed where branches coincide [m or rad]."""


def solve(
    robot: RigidBodySystem,
    target: ArrayLike,
    frame: str | Sequence[str] | None = None,
    seed: ArrayLike | None = None,
    **options: Unpack[SolveOptions],
) -> InverseKinematicsResult:
    """Finds joint positions that bring a frame to a pose ([RD] 2.9.3, damped, with restarts).

    The search starts at the seed, then at points spread over the joint ranges, sorted by distance
    to the target and the same in every call, until one search converges. A floating or planar root
    stays at its seed unless supports are given. A solution of a robot with ``loops`` closes them;
    joints that do not move the frame move too, and starts are spread about the seed.

    Args:
        robot: the robot.
        target: (..., 4, 4) target pose in the root frame, (position, quaternion x y z w) or these
            seven numbers; (..., m, 4, 4) of m frames. Leading axes are several problems.
        frame: name of the frame to bring to the target, or m names for simultaneous targets; None
            is ``robot.tool_frame``.
        seed: (..., nq) first start, projected onto the limits; None is the center of the ranges.
            Joints that do not move the frame keep their seed values; without a seed they get those
            of ``robot.nominal()``, within their limits.
        options: options of the name of an attribute of `Options`; ``timeout`` applies to each
            problem.

    Returns:
        The solution, or the closest configuration and the reason of the failure. If all solutions
        that were found are in collision, it is one of these. Otherwise the position comes first,
        and the rotation error is the smallest that was found at the position. With supports,
        which come before both, a rotation error of 1 rad weighs as much as a tenth of the spread of
        the frame's positions; with loops, as much as the spread.

    Raises:
        InvalidArgumentError: an argument has a wrong shape, is not finite or is out of range; a
            locked joint is far beyond its limits, or only its position beyond them excludes a
            solution; leading axes cannot be broadcast.
        UnknownOptionError: there is no such option.
    """
    given = Options.of(SolveOptions, options, robot) if options else DEFAULTS
    if frame is None:
        frame = robot.tool_frame
    axes_of_one = 2 if isinstance(frame, str) else 3
    if axes_of_one == 3 and isinstance(target, (list, tuple)):
        target = [pose_matrices('target', one) for one in target]
    targets = real_array('target', pose_matrices('target', target), POSE)
    seeds = np.zeros(0)
    if seed is not None:
        seeds = real_array('seed', seed, 'configurations of shape (..., nq)')
    if targets.ndim <= axes_of_one and seeds.ndim <= 1:
        return _solve(Problem(robot, targets, frame, seed, given))
    try:
        leading = np.broadcast_shapes(targets.shape[:-axes_of_one], seeds.shape[:-1])
    except ValueError:
        problem = f'leading axes {seeds.shape[:-1]} beside those of the target'
        raise InvalidArgumentError('seed', problem, f'{targets.shape[:-axes_of_one]}') from None
    targets = np.broadcast_to(targets, leading + targets.shape[-axes_of_one:])
    seeds = np.broadcast_to(seeds, leading + seeds.shape[-1:])
    results = [
        _solve(
            Problem(
                robot, targets[i].copy(), frame, None if seed is None else seeds[i].copy(), given
            )
        )
        for i in np.ndindex(leading)
    ]

    names = (frame,) if isinstance(frame, str) else tuple(frame)

    def stacked(name: str, kind: type, *shape: int) -> Any:
        return np.array([getattr(x, name) for x in results], kind).reshape(leading + shape)

    kinds = {'success': bool, 'position_error': float, 'rotation_error': float, 'iterations': int}
    return InverseKinematicsResult(
        q=stacked('q', float, robot.nq),
        **{name: stacked(name, kind) for name, kind in kinds.items()},
        reason=stacked('reason', str),
        elapsed=sum(x.elapsed for x in results),
        _robot=robot,
        _chain=results[0]._chain if results else chain_of(robot, names),
    )


def _solve(problem: Problem) -> InverseKinematicsResult:
    options = problem.options
    collisions, timeout, max_restarts = options.collisions, options.timeout, options.max_restarts
    if problem.robot.model.loops:
        began = time.perf_counter()
        result = solve_in_loops(problem, Deadline.after(began, 1.0, timeout), began)
        if problem.beyond and result.reason in (STALLED, UNREACHABLE):
            _check_locked(problem)
        return result
    closed_form = closed_form_of(problem)
    began = time.perf_counter()
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
    end = problem.search.run(problem.start, clock)
    whole = Deadline.after(began, 1.0, timeout)
    steps, ends = 0, []
    out_of_reach = False
    restarts = None
    while True:
        steps += end.steps
        solution, free = _solution(problem, end, whole, collisions)
        if solution is not None and free:
            return problem.result(solution, steps, CONVERGED, began)
        colliding = colliding or solution
        ends.append(end)
        if restarts is None:
            out_of_reach = unreachable or problem.out_of_reach()
            # Out of reach: only the closest approach is searched, from a few starts.
            count = min(max_restarts, DESCENTS) if out_of_reach else max_restarts
            restarts = problem.restarts(count)
            until = Deadline.after(began, SEARCHING, timeout)
            clock = None if problem.search.compiled else until
        positions = None if until.passed() else next(restarts, None)
        if positions is None:
            break
        end = problem.search.run(positions, clock)

    if colliding is not None:
        return problem.result(colliding, steps, COLLIDING, began)
    deadline = Deadline.after(began, 1.0, timeout)
    ends.sort(key=lambda end: end.cost)
    starts = [end.positions for end in ends[:DESCENTS]]
    starts += problem.restarts(min(STARTS_BY_PLACE, max_restarts), by_place=True)
    # The position has priority; the rotation counts only if the position can be reached.
    descents: list[End] = []
    if not options.position_only and not problem.out_of_reach():
        more = problem.restarts(max_restarts, by_place=True)
        descents = _turned(problem, [problem.start, *starts[:DESCENTS]], more, deadline)
    distance, position_missed = 0.0, not descents
    if position_missed:
        descents = _descents(problem, starts, 0.0, deadline)
    closest = min(descents, key=lambda end: end.cost)
    steps += sum(end.steps for end in descents)
    if position_missed:
        distance = math.sqrt(closest.cost)
        position_missed = distance * problem.chain.length > options.position_tolerance
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
        _check_locked(problem)
    positions = closest.positions
    if position_missed and not options.position_only:
        rotated = _descents(problem, [positions], ROTATION_AT_PLACE * distance, deadline)[0]
        positions, steps = rotated.positions, steps + rotated.steps
    candidate = problem.closest(positions, deadline)
    return problem.result(candidate, steps, reason, began)


def solve_all(
    robot: RigidBodySystem,
    target: ArrayLike,
    frame: str | Sequence[str],
    seed: ArrayLike | None = None,
    **options: Unpack[SolveAllOptions],
) -> Solutions:
    """Finds the distinct solutions, sorted by distance from the seed.

    Each start that converges gives one solution; solutions closer than ``min_separation`` in every
    joint to an earlier one are dropped. A redundant arm has a continuum of solutions, of which
    these are samples; with enough locked joints the number is finite.

    Args:
        robot, target, frame, seed: see ``solve``, of one problem.
        options: options of the name of an attribute of `Options`.

    Returns:
        Confirmed solutions; empty if none was found (``solve`` gives the reason).

    Raises:
        InvalidArgumentError: an argument has a wrong shape, is not finite or is out of range.
        UnknownOptionError: there is no such option.
    """
    options.setdefault('timeout', ALL_TIMEOUT)
    given = Options.of(SolveAllOptions, options, robot)
    problem = Problem(robot, target, frame, seed, given)
    collisions, most = given.collisions, given.max_solutions
    closed_form = None if robot.model.loops else closed_form_of(problem)
    began = time.perf_counter()
    if closed_form is not None:
        count = most if collisions is None else CLOSED_FORM_BRANCHES
        branches, unreachable = closed_form_solutions(closed_form, problem, began, count)
        if branches or unreachable:
            if collisions is None:
                return branches
            rows = [k for k, q in enumerate(branches.q) if not collisions.in_collision(q)]
            return branches.chosen(rows[:most])
    separation = given.min_separation or SEPARATION
    deadline = Deadline.after(began, 1.0, given.timeout)
    found: list[tuple[Candidate, int]] = []
    for solution, taken in _all_ends(problem, deadline, collisions):
        if solution is not None:
            apart = (_separation(problem, solution, x) for x, _ in found)
            if all(distance > separation for distance in apart):
                found.append((solution, taken))
        if deadline.passed():
            break
    if problem.beyond and not found and not deadline.passed():
        _check_locked(problem)
    if robot.model.loops:
        found.sort(key=lambda entry: math.dist(entry[0].q, problem.q))
    else:
        found.sort(key=lambda entry: math.dist(entry[0].positions, problem.start))
    del found[most:]
    squares = np.square([(x.position_error, x.rotation_error) for x, _ in found])
    q = np.array([x.q for x, _ in found]).reshape(len(found), robot.nq)
    steps = [count for _, count in found]
    return Solutions((robot, problem.chain), q, squares, steps, time.perf_counter() - began)


def _all_ends(
    problem: Problem, deadline: Deadline, collisions: Collisions | None
) -> Iterator[tuple[Candidate | None, int]]:
    """Solutions free of collisions at the ends of searches, None elsewhere, and their steps."""
    if problem.robot.model.loops:
        for _, solution, steps in ends_in_loops(problem):
            hits = solution and collisions and collisions.in_collision(solution.q)
            yield None if hits else solution, steps
        return
    count = 0 if problem.out_of_reach() else problem.options.max_restarts
    for positions in (problem.start, *problem.restarts(count)):
        end = problem.search.run(positions, deadline)
        solution, free = _solution(problem, end, deadline, collisions)
        yield solution if free else None, end.steps


def _separation(problem: Problem, first: Candidate, second: Candidate) -> float:
    """Largest difference of a joint [rad or m], in loops also of those that do not move a frame."""
    if problem.robot.model.loops:
        return float(np.abs(np.angle(np.exp(1j * (first.q - second.q)))).max())
    return problem.chain.separation(first.positions, second.positions)


def _check_locked(problem: Problem) -> None:
    """Refuse a problem that has a solution only with locked joints within their limits."""
    options, seed = problem.options._replace(collisions=None), problem.within_limits()
    target = problem.targets[: len(problem.chain.frames)]
    if _solve(Problem(problem.robot, target, problem.chain.frames, seed, options)).success:
        names = ', '.join(map(repr, problem.beyond))
        where = f'no solution with {names} beyond its limits, where the seed has it'
        raise InvalidArgumentError('locked_joints', where, 'a seed within the limits')


def closed_form_of(problem: Problem) -> ClosedForm | None:
    """Closed form for a problem; None if its arm or its options do not allow one.

    The closed form of a chain and a set of locked joints is created once and stored with the chain.
    """
    chain = problem.chain
    _, _, position_only, slack, weights, _, posture, *_ = problem.options
    if position_only or slack is not None or posture is not None or chain.supports:
        return None
    if weights and any(map(math.isfinite, weights.values())):
        return None
    locked: tuple[str, ...] = ()
    if problem.locked is not None:
        locked = tuple(chain.names[i] for i in np.flatnonzero(problem.locked))
    try:
        return chain.closed_forms[locked]
    except KeyError:
        closed_form = chain.closed_forms[locked] = _closed_form(problem, locked)
        return closed_form


def _closed_form(problem: Problem, locked: tuple[str, ...]) -> ClosedForm | None:
    robot, frames = problem.robot, problem.chain.frames
    if len(frames) > 1:
        return None
    places = [robot.joint_q_indices[name] for name in locked]
    arm = solvable_arm(robot.model, robot.model.frame(frames[0]), places)
    if arm is None:
        return None
    kernel = robot.kernel('analytic_inverse_kinematics', frames[0], *locked)
    exact = arm.error < EXACT and not locked
    closed_form = ClosedForm(kernel, exact)
    # Compile now, so that compilation does not use up the timeout and all results are identical.
    kernel.wait()
    closed_form_solutions(closed_form, problem, 0.0, most=1)
    return closed_form


def closed_form_solutions(
    closed_form: ClosedForm, problem: Problem, began: float, most: int
) -> tuple[Solutions, bool]:
    """Distinct solutions within the limits, sorted by distance from the seed.

    Args:
        closed_form: of the problem, as returned by `closed_form_of`.
        problem: a problem with one frame.
        began: start time of the problem, on ``time.perf_counter`` [s].
        most: largest number of solutions.

    Returns:
        The solutions, and whether the target is provably out of reach, independent of joint limits.
    """
    position, rotation, *_ = problem.options
    settings = np.array((position, rotation, problem.options.min_separation or BRANCH_SEPARATION))
    positions, squares, counts = closed_form.kernel.call(
        problem.start, problem.in_root_link[0], settings
    )
    count, reached = counts.tolist()
    rows = positions[: min(int(count), most)]
    if len(problem.q) > rows.shape[1]:
        q = np.empty((len(rows), len(problem.q)))
        q[:] = problem.q
        q[:, problem.chain.q_index] = rows
        rows = q
    unreachable = not reached and closed_form.exact and min(position, rotation) >= RELIABLE
    of, elapsed = (problem.robot, problem.chain), time.perf_counter() - began
    return Solutions(of, rows, squares, None, elapsed), unreachable


def _descents(
    problem: Problem, starts: Sequence[Vector], rotation: float, deadline: Deadline
) -> list[End]:
    """Ends of descents from the given starts until the deadline; at least one descent is made."""
    ends: list[End] = []
    for positions in starts:
        ends.append(problem.search.approach(positions, rotation, deadline))
        if deadline.passed():
            break
    return ends


def _turned(
    problem: Problem, starts: Sequence[Vector], more: Iterable[Vector], deadline: Deadline
) -> list[End]:
    """Ends of descents of the rotation from solutions of the position; empty if there are none.

    The best ones are improved to the least rotation error near them, until enough of them agree.

    Args:
        problem: a problem; none of these solve it if it has supports.
        starts: first starts.
        more: further starts, for as long as there are fewer solutions than wanted.
        deadline: time to stop.
    """
    if problem.chain.supports:
        return []
    place = problem.search.of_positions()
    # Plain Python has time for a few.
    clock, most = (None, PLACES) if place.compiled else (deadline, AGREEING_DESCENTS)
    solutions: list[Vector] = []
    for positions in chain(starts, more):
        end = place.run(positions, clock)
        if end.arrived:
            solutions.append(end.positions)
        if len(solutions) == most or deadline.passed():
            break
    solutions.sort(key=lambda positions: problem.candidate(positions).rotation_error)
    ends: list[End] = []
    for positions in solutions[:DESCENTS]:
        ends.append(problem.search.slide(positions, place, clock))
        if deadline.passed() or _agreeing(ends) >= AGREEING_DESCENTS:
            break
    ends.sort(key=lambda end: end.cost)
    turned: list[End] = []
    for end in ends:
        turned.append(problem.search.turn(end.positions, place, deadline))
        if deadline.passed() or _agreeing(turned) >= AGREEING_DESCENTS:
            break
    return turned


def _agreeing(ends: Sequence[End]) -> int:
    """Number of ends with nearly the smallest cost."""
    least = min(end.cost for end in ends)
    return sum(end.cost <= (1.0 + SAME_APPROACH) * least for end in ends)


def _solution(
    problem: Problem, end: End, deadline: Deadline, collisions: Collisions | None
) -> tuple[Candidate | None, bool]:
    """Confirmed solution at the end of a search, and whether it is free of collisions.

    It is moved towards the preferred posture if the checks confirm that, too.
    """
    solution = problem.confirmed(end.positions) if end.arrived else None
    if solution is None:
        return None, False
    if problem.options.posture is not None:
        end = problem.search.settle(solution.positions, deadline)
        settled = problem.confirmed(end.positions) if end.arrived else None
        if settled is not None and not (collisions and collisions.in_collision(settled.q)):
            solution = settled
    free = _free(problem, solution, deadline, collisions)
    return (solution, False) if free is None else (free, True)


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
        end = problem.search.run(np.clip(solution.positions + step, *problem.bounds[:2]), deadline)
        moved = problem.confirmed(end.positions) if end.arrived else None
        if moved is None or deadline.passed():
            return None
        solution = moved
        if not collisions.in_collision(solution.q):
            return solution
    return None
