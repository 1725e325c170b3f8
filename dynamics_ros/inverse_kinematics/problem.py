# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An inverse kinematics problem: checked arguments, with targets, limits and options as arrays."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.algorithms.control.constrained import HELD_ROWS
from dynamics_ros.errors import InvalidArgumentError, UnknownJointError
from dynamics_ros.multibody.arguments import check_flag, check_positive, finite_vector, per_entry
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .chain import HALF_TURN, UNBOUNDED, Chain, Supports, chain_of
from .checked_pose import checked_pose
from .reach import Reach
from .result import CONVERGED, InverseKinematicsResult
from .search import INSIDE, Deadline, End, Search

Vector = NDArray[np.float64]

POSTURES = ('seed', 'centre')

SUPPORTS = ('point', 'surface')
"""Kinds of contacts of a support."""

NO_SLACK = np.zeros(6)


class Wishes(NamedTuple):
    """Options of a problem: tolerances and preferences.

    Attributes:
        position_tolerance: [m].
        rotation_tolerance: [rad].
        position_only: ignore the rotation of the target.
        slack: (6) accepted deviation along and about the axes of the target [m, rad]; inf leaves a
            direction free.
        joint_weights: motion cost by joint name, 1 by default; inf locks a joint.
        locked_joints: names of joints that keep their seed values.
        posture: (nq) preferred configuration, approached as far as the target allows; 'seed'
            minimizes the motion, 'centre' is the middle of the limits.
    """

    position_tolerance: float = 1e-5
    rotation_tolerance: float = 1e-5
    position_only: bool = False
    slack: ArrayLike | None = None
    joint_weights: Mapping[str, float] | None = None
    locked_joints: Collection[str] = ()
    posture: ArrayLike | str | None = None


class Placed(NamedTuple):
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
        wishes: options of the problem.
        slack: (6) accepted deviation; a large number where a direction is free.
        locked: (n) bool, whether a joint is locked; None if all joints may move.
        search: the local search for this problem.
    """

    __slots__ = (
        'chain',
        'in_root_link',
        'locked',
        'q',
        'robot',
        'search',
        'slack',
        'start',
        'targets',
        'wishes',
    )

    def __init__(
        self,
        robot: RigidBodySystem,
        target: ArrayLike,
        frame: str | Sequence[str],
        seed: ArrayLike | None,
        wishes: Wishes,
        supports: Mapping[str, str] | None = None,
    ) -> None:
        """Check the arguments, and set up the search.

        Args:
            robot: the robot.
            target, frame, seed, supports: see ``solve``.
            wishes: options of ``solve``.

        Raises:
            InvalidArgumentError: an argument has a wrong shape, is not finite or is out of range.
        """
        frames = (frame,) if isinstance(frame, str) else _checked_names(frame)
        self.robot = robot
        feet = _checked_supports(supports) if supports else ()
        self.chain = chain = chain_of(robot, frames, feet)
        self.wishes = wishes
        position_tolerance, rotation_tolerance, position_only, slack, weights, locks, liked = wishes
        if not (position_only is False and weights is None and type(locks) is tuple):
            _check_kinds(position_only, weights, locks)
        plain = slack is None and liked is None and not weights and not locks
        if type(position_tolerance) is not float or type(rotation_tolerance) is not float:
            check_positive('position_tolerance', position_tolerance)
            check_positive('rotation_tolerance', rotation_tolerance)
        key = (position_tolerance, rotation_tolerance, position_only)
        search = chain.searches.get(key) if plain else None
        if search is None:
            check_positive('position_tolerance', position_tolerance)
            check_positive('rotation_tolerance', rotation_tolerance)
        self.targets = targets = _checked_targets(target, frame, len(frames), position_only)
        if seed is None:
            self.q, self.start = robot.neutral(), chain.centre
        else:
            self.q = q = _checked_seed(seed, robot.nq)
            for name, own, neutral in chain.still:
                if not np.array_equal(q[own], neutral):
                    problem = f'{name!r}, of several coordinates, is not at its neutral position'
                    expected = f'{neutral.tolist()} there; a search moves joints of one coordinate'
                    raise InvalidArgumentError('seed', problem, expected)
            self.start = q[chain.q_index]
        self.in_root_link = targets
        if feet:
            places = [robot.forward_kinematics(self.q, name) for name, _ in feet]
            self.targets = self.in_root_link = np.concatenate([targets, places])
        elif robot.model.root_joint != 'fixed':
            X_0B = robot.forward_kinematics(self.q, robot.body_names[0])
            self.in_root_link = np.ascontiguousarray(np.linalg.inv(X_0B) @ targets)
        self.locked: NDArray[np.bool_] | None = None
        self.slack = NO_SLACK
        if search is None:
            joints, tasks = chain.joint_rows, chain.tasks[position_only]
            if not plain:
                joints, tasks = self._wished()
            near, aligned = ((INSIDE * x) ** 2 for x in key[:2])
            search = Search(chain.search, len(frames), joints, tasks, near, aligned)
            if plain:
                chain.keep(key, search)
        if feet:
            lead = np.arange(len(self.start)) < chain.root_nq
            self.locked = lead if self.locked is None else lead | self.locked
        self.search = search

    def _wished(self) -> tuple[Vector, Vector]:
        """``joints`` and ``tasks`` of a step for slack, weights, locked joints or a posture."""
        chain, wishes = self.chain, self.wishes
        self.start = np.clip(self.start, chain.lower, chain.upper)
        tasks = chain.tasks[wishes.position_only]
        if wishes.slack is not None:
            slack = _checked_slack(wishes.slack)
            self.slack = np.minimum(slack, UNBOUNDED)
            tasks = tasks.copy()
            free = np.isinf(slack)
            of_frames = tasks[: len(chain.frames)]
            of_frames[:, 0, free] = 0.0
            of_frames[:, 1] = np.where(free, 0.0, slack)
        joints, self.locked = _wished_joints(self.robot, chain, self.start, wishes)
        return joints, tasks

    def out_of_reach(self) -> bool:
        """Whether a target is outside the bound on the reach of its frame."""
        if self.chain.supports:
            return False
        margin = self.wishes.position_tolerance
        if self.slack is not NO_SLACK:
            margin += float(np.linalg.norm(self.slack[:3]))
        points = self.in_root_link[:, :3, 3].tolist()
        return any(map(Reach.excludes, self.chain.reaches, points, repeat(margin)))

    def run(self, start: Vector, deadline: Deadline | None) -> End:
        """Search from joint positions (n); no time limit if the deadline is None."""
        return self.search.run(start, self.in_root_link, deadline)

    def restarts(self, count: int, random_seed: int, *, by_place: bool = False) -> Iterator[Vector]:
        """Start positions after the seed, which are the same in every call.

        Args:
            count: number of starts.
            random_seed: selects the sequence.
            by_place: sort by the distance of positions alone, without rotations.
        """
        starts = self.chain.starts(self.robot, random_seed)
        place = by_place or self.wishes.position_only
        for positions in starts.toward(self.in_root_link[: len(self.chain.frames)], count, place):
            if self.locked is not None:
                positions = np.where(self.locked, self.start, positions)
            yield positions

    def placed(self, positions: Vector) -> Placed:
        """Configuration with positions (n) of the chain; errors are computed independently."""
        chain = self.chain
        q = self.q.copy()
        q[chain.q_index] = positions
        check, rest = chain.check.call, (self.targets, self.slack, chain.bounds, self.start)
        position, rotation, outside, away, slipped, turned = check(q, *rest).tolist()
        if away > HALF_TURN or (outside > 0.0 and chain.turning):
            positions = np.array(chain.turned_to(positions.tolist(), self.start))
            q[chain.q_index] = positions
            position, rotation, outside, _, slipped, turned = check(q, *rest).tolist()
        rotation = 0.0 if self.wishes.position_only else math.sqrt(rotation)
        allowed = outside <= 0.0
        if chain.supports:
            allowed &= slipped <= self.wishes.position_tolerance**2
            allowed &= turned <= self.wishes.rotation_tolerance**2
        return Placed(positions, q, math.sqrt(position), rotation, allowed)

    def closest(self, positions: Vector, deadline: Deadline) -> Placed:
        """Like `placed`, after a search that moves supports back to their poses; else the seed."""
        if not self.chain.supports:
            return self.placed(positions)
        end = self.search.of_supports().run(positions, self.in_root_link, deadline)
        placed = self.placed(end.positions)
        return placed if placed.allowed else self.placed(self.start)

    def confirmed(self, positions: Vector) -> Placed | None:
        """Solution with positions (n), if it is within tolerances and limits; else None."""
        placed = self.placed(positions)
        holds = (
            placed.position_error <= self.wishes.position_tolerance
            and placed.rotation_error <= self.wishes.rotation_tolerance
            and placed.allowed
        )
        return placed if holds else None

    def result(
        self, placed: Placed, iterations: int, reason: str, began: float, known: bool = True
    ) -> InverseKinematicsResult:
        """Result of the problem; q is NaN unless ``known``."""
        return InverseKinematicsResult(
            placed.q if known else np.full_like(placed.q, np.nan),
            reason == CONVERGED,
            placed.position_error,
            placed.rotation_error,
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


def _checked_seed(seed: ArrayLike, size: int) -> Vector:
    if (
        type(seed) is np.ndarray
        and seed.shape == (size,)
        and seed.dtype == np.float64
        # The sum is finite only if all numbers are; for few numbers it is faster than NumPy.
        and math.isfinite(sum(seed.tolist()))
    ):
        return seed
    return finite_vector('seed', seed, size)


def _checked_targets(
    target: ArrayLike, frame: str | Sequence[str], count: int, position_only: bool
) -> Vector:
    if isinstance(frame, str):
        return checked_pose('target', target, position_only=position_only)[None]
    poses = list(np.asarray(target)) if np.ndim(target) == 3 else []
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
    return tuple((name, HELD_ROWS[kind]) for name, kind in supports.items())


def _checked_slack(slack: ArrayLike) -> Vector:
    values = per_entry('slack', slack, 6, least=0.0, infinite=True)
    if np.isinf(values).all():
        raise InvalidArgumentError('slack', 'all infinite', 'a direction that is not free')
    return values


def _wished_joints(
    robot: RigidBodySystem, chain: Chain, start: Vector, wishes: Wishes
) -> tuple[Vector, NDArray[np.bool_]]:
    """``joints`` of a step with weights, locked joints and posture; flags (n) of locked joints."""
    joints = chain.joint_rows.copy()
    for name in wishes.locked_joints:
        if name not in robot.joint_names:
            raise UnknownJointError('locked_joints', name, robot.joint_names)
    weights = {**(wishes.joint_weights or {}), **dict.fromkeys(wishes.locked_joints, math.inf)}
    for name, weight in weights.items():
        if name not in robot.joint_names:
            raise UnknownJointError('joint_weights', name, robot.joint_names)
        if not (isinstance(weight, Real) and weight > 0.0):
            raise InvalidArgumentError(
                'joint_weights', f'{weight} of {name!r}', 'a positive number'
            )
        if name in chain.names:
            joints[2, chain.names.index(name)] /= weight
    first = chain.root_nq
    locked = np.zeros(len(start), dtype=bool)
    locked[first:] = joints[2, chain.root_nv :] == 0.0
    if isinstance(wishes.posture, str):
        if wishes.posture not in POSTURES:
            raise InvalidArgumentError('posture', repr(wishes.posture), f'(nq) or {POSTURES}')
        liked = start if wishes.posture == 'seed' else chain.centre
    elif wishes.posture is not None:
        liked = finite_vector('posture', wishes.posture, robot.nq)[chain.q_index]
    else:
        liked = chain.centre
    of_joints = joints[:, chain.root_nv :]
    of_joints[4] = np.clip(liked[first:], of_joints[0], of_joints[1])
    return joints, locked
