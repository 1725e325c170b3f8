# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An inverse kinematics problem: its options, and checked arguments with targets and limits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from numbers import Real
from typing import Any, NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.constrained import CONSTRAINT_ROWS
from dynamics_ros.collision import Collisions
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError, UnknownOptionError
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.model.hardened_xml import MAXIMUM_NUMBER
from dynamics_ros.multibody.arguments import (
    ORTHOGONALITY,
    check_count,
    check_flag,
    check_positive,
    finite_vector,
    per_entry,
    rigid_pose,
)
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem
from dynamics_ros.spatial import Matrix3, Scalar, transform_of_rows
from dynamics_ros.spatial.scalar import sqrt, where_less

from .chain import HALF_TURN, Chain, Reach, Supports, chain_of
from .result import CONVERGED, InverseKinematicsResult
from .search import UNBOUNDED, Deadline, Search, ends_within

Vector = NDArray[np.float64]

POSTURES = ('seed', 'centre')

SUPPORTS = ('point', 'surface')
"""Kinds of contacts of a support."""

NO_SLACK = np.zeros(6)


class SearchOptions(TypedDict, total=False):
    """Keyword arguments of ``solve`` and ``solve_all``; see ``Options``."""

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
    """Keyword arguments of ``solve``; see ``Options``."""

    supports: Mapping[str, str] | None


class SolveAllOptions(SearchOptions, total=False):
    """Keyword arguments of ``solve_all``; see ``Options``."""

    max_solutions: int
    min_separation: float | None


class Options(NamedTuple):
    """Options of ``solve`` and ``solve_all`` with their defaults.

    Attributes:
        position_tolerance: accepted distance from the target [m].
        rotation_tolerance: accepted angle from the target [rad].
        position_only: leave the rotation free.
        slack: (6) accepted deviation along and about the axes of the target [m, rad]; inf leaves
            a direction free. None is zero.
        joint_weights: motion cost by joint name; 1 for other joints, inf locks a joint.
        locked_joints: names of joints that keep their seed values, also somewhat beyond limits.
        posture: (nq) preferred configuration, approached as far as the target allows; 'seed'
            minimizes the motion, 'centre' is the middle of the limits, None is no preference.
        collisions: links and obstacles that a solution keeps apart; None: not checked.
        timeout: s, wall clock, without the setup of a robot's first problem. A tenth of it is
            guaranteed as processor time, even if other processes delay the search. The default of
            ``solve_all`` is 0.2 s.
        max_restarts: number of starts after the seed.
        random_seed: selects the sequence of starts.
        supports: of ``solve``: frames that keep their seed pose while the root moves
            ([RD] 2.10.5), each with 'point' for its position or 'surface' for its pose. They have
            priority over the targets, also if there is no solution.
        max_solutions: of ``solve_all``: maximum number of solutions.
        min_separation: of ``solve_all``: minimum difference in at least one joint [rad or m]. None
            is 0.1 for a search; a closed form only merges solutions that are equal up to rounding.
    """

    position_tolerance: float = 1e-5
    rotation_tolerance: float = 1e-5
    position_only: bool = False
    slack: ArrayLike | None = None
    joint_weights: Mapping[str, float] | None = None
    locked_joints: Collection[str] = ()
    posture: ArrayLike | str | None = None
    collisions: Collisions | None = None
    timeout: float = 0.05
    max_restarts: int = 200
    random_seed: int = 0
    supports: Mapping[str, str] | None = None
    max_solutions: int = 16
    min_separation: float | None = None

    @classmethod
    def of(cls, kind: type, options: Mapping[str, Any], robot: RigidBodySystem) -> Options:
        """Return checked options of the names that a TypedDict has.

        Raises:
            UnknownOptionError: names the first unknown option, and the valid ones.
            InvalidArgumentError: a bound is out of range, or collisions are of another robot.
        """
        for name in options:
            if name not in kind.__annotations__:
                raise UnknownOptionError(name, ('seed', *kind.__annotations__))
        given = cls(**options)
        check_positive('timeout', given.timeout)
        check_count('max_restarts', given.max_restarts, least=0)
        check_count('random_seed', given.random_seed, least=0)
        check_count('max_solutions', given.max_solutions, least=1)
        if given.min_separation is not None:
            check_positive('min_separation', given.min_separation)
        if given.collisions is not None:
            Collisions.check_robot(given.collisions, robot)
        return given


class Candidate(NamedTuple):
    """Joint positions near the seed, with errors and a check of the limits.

    Attributes:
        positions: (n) positions of the chain, shifted by full turns to be nearest to the seed.
        q: (nq) configuration with these positions.
        position_error: of the worst frame [m].
        rotation_error: of the worst frame [rad]; 0 if the rotation is ignored.
        allowed: whether positions are within the limits and supports within the tolerances.
    """

    positions: Vector
    q: Vector
    position_error: float
    rotation_error: float
    allowed: bool


class Problem:
    """An inverse kinematics problem with checked arguments.

    Attributes:
        robot: the robot.
        chain: the joints that move the frames.
        targets: (m, 4, 4) desired poses in the root frame; those of supports come last.
        in_root_link: (m, 4, 4) desired poses in the root link; with supports, in the root frame.
        q: (nq) the seed; joints that do not move the frames keep these values.
        start: (n) positions of the chain at the seed.
        options: options of the problem.
        slack: (6) accepted deviation; a large number where a direction is free.
        locked: (n) bool, whether a joint is locked; None if all joints may move.
        beyond: names of locked joints beyond their limits, where they stay.
        bounds: (3, n) of a check, as those of the chain; a locked joint is bounded by its position.
        search: the local search for this problem.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        target: ArrayLike,
        frame: str | Sequence[str],
        seed: ArrayLike | None,
        options: Options,
    ) -> None:
        """Check the arguments, and set up the search.

        Args:
            robot: the robot.
            target, frame, seed: see ``solve``.
            options: its options.

        Raises:
            InvalidArgumentError: an argument has a wrong shape, is not finite or is out of range.
        """
        frames = (frame,) if isinstance(frame, str) else _checked_names(frame)
        self.robot = robot
        kept_frames = _checked_supports(options.supports) if options.supports else ()
        self.chain = chain = chain_of(robot, frames, kept_frames)
        self.options = options
        position_tolerance, rotation_tolerance, position_only, slack, weights, locks, posture = (
            options[:7]
        )
        if not (position_only is False and weights is None and type(locks) is tuple):
            _check_kinds(position_only, weights, locks)
        plain = slack is None and posture is None and not weights and not locks
        check_positive('position_tolerance', position_tolerance)
        check_positive('rotation_tolerance', rotation_tolerance)
        self.targets = targets = _checked_targets(target, frame, len(frames), position_only)
        if seed is None:
            self.q, self.start = chain.nominal, chain.centre
        else:
            self.q = q = finite_vector('seed', seed, robot.nq)
            for name, own, neutral in chain.multi_dof_joints:
                if not np.array_equal(q[own], neutral):
                    problem = f'{name!r}, of several coordinates, is not at its neutral position'
                    expected = f'{neutral.tolist()} there; a search moves joints of one coordinate'
                    raise InvalidArgumentError('seed', problem, expected)
            self.start = q[chain.q_index]
            if max(map(abs, q.tolist()), default=0.0) > 2.0 * math.pi:
                robot._warn_of_degrees('seed', q)
        self.in_root_link = targets
        if kept_frames:
            places = [robot.forward_kinematics(self.q, name) for name, _ in kept_frames]
            self.targets = self.in_root_link = np.concatenate([targets, places])
        elif robot.model.root_joint != 'fixed':
            X_0B = robot.forward_kinematics(self.q, robot.body_names[0])
            self.in_root_link = np.ascontiguousarray(np.linalg.inv(X_0B) @ targets)
        self.locked: NDArray[np.bool_] | None = None
        self.beyond: tuple[str, ...] = ()
        self.bounds = chain.bounds
        self.slack = NO_SLACK
        joints, tasks = chain.joint_rows, chain.tasks[position_only]
        if not plain:
            joints, tasks = self._step_inputs_of_options()
        if kept_frames:
            root_coordinates = np.arange(len(self.start)) < chain.root_nq
            self.locked = (
                root_coordinates if self.locked is None else root_coordinates | self.locked
            )
        ends = ends_within(position_tolerance, rotation_tolerance)
        self.search = Search(chain.search, len(frames), self.in_root_link, joints, tasks, ends)

    def _step_inputs_of_options(self) -> tuple[Vector, Vector]:
        """``joints`` and ``tasks`` of a step for slack, weights, locked joints or a posture."""
        chain, options = self.chain, self.options
        tasks = chain.tasks[options.position_only]
        if options.slack is not None:
            slack = _checked_slack(options.slack)
            self.slack = np.minimum(slack, UNBOUNDED)
            tasks = tasks.copy()
            free = np.isinf(slack)
            of_frames = tasks[: len(chain.frames)]
            of_frames[:, 0, free] = 0.0
            of_frames[:, 1] = np.where(free, 0.0, slack)
        joints = chain.joint_rows.copy()
        _weigh(joints[2], self.robot, chain, options)
        given, self.start = self.start, np.clip(self.start, chain.lower, chain.upper)
        locked = np.zeros(len(given), dtype=bool)
        locked[chain.root_nq :] = joints[2, chain.root_nv :] == 0.0
        if locked.any():
            self.locked = locked
            if (locked & (given != self.start)).any():
                self._keep_beyond(given, locked, joints)
        _prefer(joints, chain, self.start, options.posture)
        return joints, tasks

    def _keep_beyond(self, given: Vector, locked: NDArray[np.bool_], joints: Vector) -> None:
        """Keep locked joints at the seed, where some are beyond their limits.

        Args:
            given: (n) positions of the seed.
            locked: (n) whether a joint is locked.
            joints: ``joints`` of a step, which are changed.

        Raises:
            InvalidArgumentError: a locked joint is far beyond its limits.
        """
        chain = self.chain
        outside = np.flatnonzero(locked & (given != self.start)) - chain.root_nq + chain.root_nv
        self.beyond = tuple(chain.names[k] for k in outside)
        for joint in self.robot.model.actuated:
            if joint.name in self.beyond:
                place = float(self.q[joint.q_indices[0]])
                if where := joint.limits.far_beyond(place, joint.kind.units[0]):
                    problem, expected = f'{joint.name!r} is {where}', 'a seed near its limits'
                    raise InvalidArgumentError('locked_joints', problem, expected)
        self.start = np.where(locked, given, self.start)
        self.bounds = np.where(locked, [given, given, 0.0 * given], chain.bounds)
        first, ends = chain.root_nq, joints[:2, chain.root_nv :]
        ends[:] = np.where(locked[first:], given[first:], ends)

    def within_limits(self) -> Vector:
        """The seed with locked joints beyond their limits at these."""
        q, chain = self.q.copy(), self.chain
        q[chain.q_index] = np.clip(self.start, chain.lower, chain.upper)
        return q

    def out_of_reach(self) -> bool:
        """Whether a target is outside the bound on the reach of its frame."""
        if self.chain.supports:
            return False
        margin = self.options.position_tolerance
        if self.slack is not NO_SLACK:
            margin += float(np.linalg.norm(self.slack[:3]))
        points = self.in_root_link[:, :3, 3].tolist()
        return any(map(Reach.excludes, self.chain.reaches, points, repeat(margin)))

    def restarts(self, count: int, *, by_place: bool = False) -> Iterator[Vector]:
        """Start positions after the seed, which are the same in every call.

        Args:
            count: number of starts.
            by_place: sort by the distance of positions alone, without rotations.
        """
        starts = self.chain.starts(self.robot, self.options.random_seed)
        place = by_place or self.options.position_only
        for positions in starts.toward(self.in_root_link[: len(self.chain.frames)], count, place):
            if self.locked is not None:
                positions = np.where(self.locked, self.start, positions)
            yield positions

    def candidate(self, positions: Vector) -> Candidate:
        """Configuration with positions (n) of the chain; errors are computed independently."""
        chain = self.chain
        q = self.q.copy()
        q[chain.q_index] = positions
        check, rest = chain.check.call, (self.targets, self.slack, self.bounds, self.start)
        position, rotation, outside, distance, support_position, support_rotation = check(
            q, *rest
        ).tolist()
        if distance > HALF_TURN or (outside > 0.0 and chain.turning):
            shifted = np.array(chain.shifted_to(positions.tolist(), self.start))
            locked = False if self.locked is None else self.locked
            positions = np.where(locked, positions, shifted)
            q[chain.q_index] = positions
            position, rotation, outside, _, support_position, support_rotation = check(
                q, *rest
            ).tolist()
        rotation = 0.0 if self.options.position_only else math.sqrt(rotation)
        allowed = outside <= 0.0
        if chain.supports:
            allowed &= support_position <= self.options.position_tolerance**2
            allowed &= support_rotation <= self.options.rotation_tolerance**2
        return Candidate(positions, q, math.sqrt(position), rotation, allowed)

    def closest(self, positions: Vector, deadline: Deadline) -> Candidate:
        """As `candidate`, after a search that moves supports back to their poses; else the seed."""
        if not self.chain.supports:
            return self.candidate(positions)
        end = self.search.of_supports().run(positions, deadline)
        candidate = self.candidate(end.positions)
        return candidate if candidate.allowed else self.candidate(self.start)

    def confirmed(self, positions: Vector) -> Candidate | None:
        """Solution with positions (n), if it is within tolerances and limits; else None."""
        candidate = self.candidate(positions)
        is_solution = (
            candidate.position_error <= self.options.position_tolerance
            and candidate.rotation_error <= self.options.rotation_tolerance
            and candidate.allowed
        )
        return candidate if is_solution else None

    def result(
        self, candidate: Candidate, iterations: int, reason: str, began: float
    ) -> InverseKinematicsResult:
        """Result of the problem."""
        return InverseKinematicsResult(
            candidate.q,
            reason == CONVERGED,
            candidate.position_error,
            candidate.rotation_error,
            iterations,
            reason,
            time.perf_counter() - began,
            self.robot,
            self.chain,
        )


def _checked_names(frames: Any) -> tuple[str, ...]:
    names = tuple(frames) if isinstance(frames, Iterable) else (frames,)
    if not all(isinstance(name, str) for name in names):
        expected = 'the name of a frame, or a list of names'
        raise InvalidArgumentError('frame', f'a {type(frames).__name__}', expected)
    return names


def _check_kinds(position_only: Any, weights: Any, locks: Any) -> None:
    """Check the types of three options."""
    check_flag('position_only', position_only)
    if not (weights is None or isinstance(weights, Mapping)):
        expected = 'a mapping of joint names to positive numbers'
        raise InvalidArgumentError('joint_weights', f'a {type(weights).__name__}', expected)
    if isinstance(locks, (str, np.ndarray)) or not isinstance(locks, Collection):
        expected = 'a list of joint names'
        raise InvalidArgumentError('locked_joints', f'a {type(locks).__name__}', expected)


def _checked_targets(
    target: ArrayLike, frame: str | Sequence[str], count: int, position_only: bool
) -> Vector:
    if isinstance(frame, str):
        return checked_pose('target', target, position_only=position_only)[None]
    poses = list(target) if isinstance(target, (list, tuple, np.ndarray)) else []
    if len(poses) != count:
        shape = f'({count}, 4, 4), one pose a frame'
        raise InvalidArgumentError('target', f'shape {np.shape(target)}', shape)
    return np.array([checked_pose('target', x, position_only=position_only) for x in poses])


def _checked_supports(supports: Mapping[str, str]) -> Supports:
    """Check the supports; return the name and the number of rows of each."""
    if not isinstance(supports, Mapping):
        expected = f'a mapping of frame names to one of {SUPPORTS}'
        raise InvalidArgumentError('supports', f'a {type(supports).__name__}', expected)
    for name, kind in supports.items():
        if kind not in SUPPORTS:
            raise InvalidArgumentError('supports', f'{kind!r} of {name!r}', f'{SUPPORTS}')
    return tuple((name, CONSTRAINT_ROWS[kind]) for name, kind in supports.items())


def _checked_slack(slack: ArrayLike) -> Vector:
    values = per_entry('slack', slack, 6, least=0.0, infinite=True)
    if np.isinf(values).all():
        raise InvalidArgumentError('slack', 'all infinite', 'a direction that is not free')
    return values


def _weigh(mobility: Vector, robot: RigidBodySystem, chain: Chain, options: Options) -> None:
    """Divide the mobility of joints by their weights, infinite for locked joints."""
    for name in options.locked_joints:
        if name not in robot.joint_names:
            raise UnknownJointError('locked_joints', name, robot.joint_names)
    weights = {**(options.joint_weights or {}), **dict.fromkeys(options.locked_joints, math.inf)}
    for name, weight in weights.items():
        if name not in robot.joint_names:
            raise UnknownJointError('joint_weights', name, robot.joint_names)
        bounded = isinstance(weight, Real) and 1.0 / MAXIMUM_NUMBER <= weight <= MAXIMUM_NUMBER
        if not (bounded or weight == math.inf):
            expected = f'a number from {1.0 / MAXIMUM_NUMBER:g} to {MAXIMUM_NUMBER:g}, or inf'
            raise InvalidArgumentError('joint_weights', f'{weight} of {name!r}', expected)
        if name in chain.names:
            mobility[chain.names.index(name)] /= weight


def _prefer(joints: Vector, chain: Chain, start: Vector, posture: ArrayLike | str | None) -> None:
    """Set the preferred positions in ``joints`` of a step."""
    preferred = chain.centre
    if isinstance(posture, str):
        if posture not in POSTURES:
            raise InvalidArgumentError('posture', repr(posture), f'(nq) or {POSTURES}')
        preferred = start if posture == 'seed' else chain.centre
    elif posture is not None:
        size = chain.nominal.size
        preferred = finite_vector('posture', posture, size)[chain.q_index]
    of_joints = joints[:, chain.root_nv :]
    of_joints[4] = np.clip(preferred[chain.root_nq :], of_joints[0], of_joints[1])


def checked_pose(
    argument: str, value: ArrayLike, *, position_only: bool = False
) -> NDArray[np.float64]:
    """Check a pose, and return it as a C-contiguous array (4, 4).

    Args:
        argument: name of the argument in error messages.
        value: the pose, in any form of ``pose_matrices``.
        position_only: check only the position; the result has no rotation.

    Raises:
        InvalidArgumentError: the pose is not finite or not rigid; the error names the argument.
    """
    if position_only:
        pose = np.eye(4)
        pose[:3, 3] = rigid_pose(argument, value, position_only=True)[:3, 3]
        return pose
    # Fast path: one call instead of ten NumPy calls. `rigid_pose` explains what is wrong otherwise.
    if _rigid_defect()(value) <= ORTHOGONALITY:
        return value  # type: ignore[return-value]
    return np.ascontiguousarray(rigid_pose(argument, value))


@cache
def _rigid_defect() -> Callable[[Any], float]:
    """Function for the deviation of a (4, 4) array from a rigid pose; inf for other arguments."""
    kernel = Kernel(trace(_defect, {'pose': (4, 4)}, 'rigid_defect'))
    return cast('Callable[[Any], float]', kernel.bind(lambda _: math.inf))


def _defect(pose: Sequence[Any]) -> Scalar:
    R = transform_of_rows(pose).rotation
    rest = R @ R.T - Matrix3.identity()
    *zeros, one = pose[3]
    bottom = sum((x * x for x in zeros), (one - 1.0) * (one - 1.0))
    worst = where_less(0.0, bottom, 1.0, where_less(R.determinant(), 0.0, 1.0, 0.0))
    for entry in (x for row in rest for x in row):
        worst = where_less(worst, entry * entry, entry * entry, worst)
    return sqrt(worst)
