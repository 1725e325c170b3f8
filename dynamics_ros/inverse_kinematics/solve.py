"""Inverse kinematics with restarts: one solution, or all that can be told apart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_count, check_positive, finite_vector, rigid_pose
from ..errors import InvalidArgumentError, UnknownFrameError
from .chain import Chain, chain_of
from .levenberg_marquardt import REFINE, SEARCH, Local, LocalSearch, Tolerances, norm
from .reach import is_out_of_reach
from .result import CONVERGED, STALLED, TIMED_OUT, UNREACHABLE, InverseKinematicsResult

if TYPE_CHECKING:
    from ..robot import Robot

Vector = NDArray[np.float64]

SAME_APPROACH = 0.05
"""Starts whose final costs agree this well (relative) ended at the same closest approach."""

AGREEING_STARTS = 3
"""So many starts at the same closest approach speak for a target out of reach."""


SEARCHING = 0.9
"""Share of the time for finding a solution; the rest refines the closest approach."""


def solve(
    robot: Robot,
    target: ArrayLike,
    frame: str,
    seed: ArrayLike | None = None,
    *,
    position_tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-5,
    position_only: bool = False,
    timeout: float = 0.05,
    max_restarts: int = 200,
    approximate: bool = False,
    random_seed: int = 0,
) -> InverseKinematicsResult:
    """Joint positions that bring a frame to a pose: [RD] 2.9.3 with damping, limits and restarts.

    The search starts at the seed, then at samples of the joint ranges, the same ones in every
    call, until one arrives. A floating or planar root keeps its place.

    Args:
        robot: the robot.
        target: (4, 4) wanted pose of the frame in the root frame.
        frame: name of the frame to bring there.
        seed: (nq) where to start, projected onto the limits; None is the centre of the ranges.
            Joints that do not move the frame keep their values of the seed.
        position_tolerance: m.
        rotation_tolerance: rad.
        position_only: leave the rotation free.
        timeout: s, on the wall clock; setting up a robot's first problem does not count.
        max_restarts: starts after the seed.
        approximate: give the closest configuration where there is no solution.
        random_seed: of the samples.

    Returns:
        The solution, or why there is none.

    Raises:
        InvalidArgumentError: an argument is of the wrong shape, not finite, or out of range.
    """
    problem = _problem(
        robot, target, frame, seed, position_tolerance, rotation_tolerance, position_only, timeout
    )
    check_count('max_restarts', max_restarts, least=0)
    began = time.perf_counter()
    search_until = began + SEARCHING * timeout
    effort = REFINE if problem.out_of_reach else SEARCH
    iterations = 0
    tries: list[Local] = []
    for positions in problem.starts(max_restarts, random_seed):
        local = problem.search.run(positions, effort, search_until)
        iterations += local.iterations
        answer = problem.confirmed(local)
        if answer is not None:
            return problem.result(answer, iterations, CONVERGED, began)
        tries.append(local)
        if time.perf_counter() > search_until:
            break
        if problem.out_of_reach and _agreeing(tries) >= AGREEING_STARTS:
            break

    closest = problem.search.run(_best(tries).positions, REFINE, began + timeout)
    iterations += closest.iterations
    if problem.out_of_reach or _agreeing(tries) >= AGREEING_STARTS:
        reason = UNREACHABLE
    else:
        reason = STALLED if len(tries) > max_restarts else TIMED_OUT
    return problem.result(closest, iterations, reason, began, known=approximate)


def solve_all(
    robot: Robot,
    target: ArrayLike,
    frame: str,
    seed: ArrayLike | None = None,
    *,
    position_tolerance: float = 1e-5,
    rotation_tolerance: float = 1e-5,
    position_only: bool = False,
    timeout: float = 0.2,
    max_restarts: int = 100,
    max_solutions: int = 16,
    min_separation: float = 0.1,
    random_seed: int = 0,
) -> tuple[InverseKinematicsResult, ...]:
    """Distinct solutions, the nearest to the seed first.

    Every start that arrives gives one; those closer than ``min_separation`` in every joint to one
    already found are dropped. A redundant arm has a continuum of solutions, of which these are
    samples.

    Args:
        robot: the robot.
        target: (4, 4) wanted pose of the frame in the root frame.
        frame: name of the frame to bring there.
        seed: (nq) as in ``solve``; solutions are ranked by the distance to it.
        position_tolerance: m.
        rotation_tolerance: rad.
        position_only: leave the rotation free.
        timeout: s for all of them together.
        max_restarts: starts after the seed.
        max_solutions: how many to return at most.
        min_separation: rad or m, in at least one joint.
        random_seed: of the samples.

    Returns:
        Confirmed solutions; empty when none was found (``solve`` says why).

    Raises:
        InvalidArgumentError: an argument is of the wrong shape, not finite, or out of range.
    """
    problem = _problem(
        robot, target, frame, seed, position_tolerance, rotation_tolerance, position_only, timeout
    )
    check_count('max_restarts', max_restarts, least=0)
    check_count('max_solutions', max_solutions, least=1)
    check_positive('min_separation', min_separation)
    began = time.perf_counter()
    deadline = began + timeout
    found: list[Local] = []
    for positions in problem.starts(0 if problem.out_of_reach else max_restarts, random_seed):
        answer = problem.confirmed(problem.search.run(positions, SEARCH, deadline))
        if answer is not None and all(
            problem.chain.separation(answer.positions, other.positions).max() > min_separation
            for other in found
        ):
            found.append(answer)
        if time.perf_counter() > deadline:
            break
    found.sort(key=lambda local: norm(local.positions - problem.start))
    return tuple(
        problem.result(local, local.iterations, CONVERGED, began) for local in found[:max_solutions]
    )


@dataclass(frozen=True, eq=False)
class _Problem:
    """A checked problem: what ``solve`` and ``solve_all`` share.

    Attributes:
        search: brings the frame to the target from given joint positions.
        chain: the joints that move the frame.
        start: (n) their positions at the seed, within the limits.
        tolerances: when the target counts as reached.
        out_of_reach: the target is farther away than the arm is long.
    """

    search: LocalSearch
    chain: Chain
    start: Vector
    tolerances: Tolerances
    out_of_reach: bool

    def starts(self, restarts: int, random_seed: int) -> Iterator[Vector]:
        """The seed, then samples of the joint ranges, the same ones in every call."""
        yield self.start
        # Made only when needed: most problems are solved from the seed.
        generator = np.random.default_rng(random_seed)
        for _ in range(restarts):
            yield self.chain.sample(self.start, generator)

    def confirmed(self, local: Local) -> Local | None:
        """The solution on the turns nearest the seed, if it holds there and is allowed."""
        if not self.tolerances.met_by(local.error):
            return None
        nearest = self._on_nearest_turn(local)
        low, high = self.chain.lower, self.chain.upper
        allowed = np.all((low <= nearest.positions) & (nearest.positions <= high))
        return nearest if allowed and self.tolerances.met_by(nearest.error) else None

    def result(
        self, local: Local, iterations: int, reason: str, began: float, known: bool = True
    ) -> InverseKinematicsResult:
        """The answer; q is NaN unless ``known``."""
        nearest = self._on_nearest_turn(local)
        q = self.search.configuration(nearest.positions)
        return InverseKinematicsResult(
            q=q if known else np.full_like(q, np.nan),
            success=reason == CONVERGED,
            position_error=norm(nearest.error[:3]),
            rotation_error=norm(nearest.error[3:]),
            iterations=iterations,
            reason=reason,
            elapsed=time.perf_counter() - began,
        )

    def _on_nearest_turn(self, local: Local) -> Local:
        positions = self.chain.turned_to(local.positions, self.start)
        return Local(positions, self.search.error(positions), local.iterations)


def _problem(
    robot: Robot,
    target: ArrayLike,
    frame: str,
    seed: ArrayLike | None,
    position_tolerance: float,
    rotation_tolerance: float,
    position_only: bool,
    timeout: float,
) -> _Problem:
    """Check the arguments that every search has, and make it."""
    if frame not in robot.frame_names:
        raise UnknownFrameError('frame', frame, robot.frame_names)
    check_positive('position_tolerance', position_tolerance)
    check_positive('rotation_tolerance', rotation_tolerance)
    check_positive('timeout', timeout)
    pose = rigid_pose('target', target, position_only=position_only)
    chain = chain_of(robot, frame)
    if not len(chain.lower):
        raise InvalidArgumentError('frame', f'no joint moves {frame!r}', 'a frame that can move')
    if seed is None:
        q, start = robot.neutral(), chain.centre
    else:
        q = finite_vector('seed', seed, robot.nq)
        start = np.clip(q[chain.q_index], chain.lower, chain.upper)
    tolerances = Tolerances(position_tolerance, rotation_tolerance, position_only)
    return _Problem(
        search=LocalSearch(robot, chain, frame, pose, q, tolerances),
        chain=chain,
        start=start,
        tolerances=tolerances,
        out_of_reach=is_out_of_reach(robot, frame, pose[:3, 3], q, position_tolerance),
    )


def _best(tries: list[Local]) -> Local:
    return min(tries, key=lambda local: local.cost)


def _agreeing(tries: list[Local]) -> int:
    """How many starts ended at the closest approach of all."""
    least = _best(tries).cost
    return sum(local.cost <= (1.0 + SAME_APPROACH) * least for local in tries)
