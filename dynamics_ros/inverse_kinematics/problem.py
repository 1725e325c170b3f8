"""An inverse kinematics problem: arguments checked, targets, limits and wishes as numbers."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain as chained
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import check_positive, finite_vector, per_entry
from ..errors import InvalidArgumentError, UnknownJointError
from .chain import Chain, chain_of
from .pose_error import checked_pose, pose_error
from .result import CONVERGED, InverseKinematicsResult
from .search import Search

if TYPE_CHECKING:
    from ..robot import Robot

Vector = NDArray[np.float64]

POSTURES = ('seed', 'centre')


class Wishes(NamedTuple):
    """What a solution shall be like besides reaching its target.

    Attributes:
        position_tolerance: m.
        rotation_tolerance: rad.
        position_only: leave the rotation free.
        slack: (6) how far off still counts as there, in the axes of the target [m, rad]; inf leaves
            a direction free.
        joint_weights: how dear a joint's moves are, 1 by default; inf locks it.
        locked_joints: names of joints that stay at their seed.
        posture: (nq) what joints come near to as far as the target leaves room, or 'seed' for no
            more motion than needed, or 'centre' for the middle of the limits.
    """

    position_tolerance: float = 1e-5
    rotation_tolerance: float = 1e-5
    position_only: bool = False
    slack: ArrayLike | None = None
    joint_weights: Mapping[str, float] | None = None
    locked_joints: Collection[str] = ()
    posture: ArrayLike | str | None = None


class Placed(NamedTuple):
    """Joint positions on the turns nearest the seed, and what is missing there."""

    positions: list[float]
    q: Vector
    position_error: float
    rotation_error: float


class Problem(NamedTuple):
    """A checked problem.

    Attributes:
        robot: the robot.
        chain: the joints that move the frames.
        targets: (m, 4, 4) wanted poses in the root frame.
        q: (nq) the seed; joints that do not move the frames keep their values of it.
        start: (n) positions of the chain at the seed, within the limits.
        wishes: what a solution shall be like.
        slack: (6) of the wishes, None when there is none.
        locked: (n) bool, joints that stay; None when all may move.
        search: brings the frames to the targets.
        out_of_reach: a target is farther away than the arm is long.
    """

    robot: Robot
    chain: Chain
    targets: Vector
    q: Vector
    start: Vector
    wishes: Wishes
    slack: Vector | None
    locked: NDArray[np.bool_] | None
    search: Search
    out_of_reach: bool

    def starts(self, restarts: int, random_seed: int) -> Iterator[Vector]:
        """The seed, then others, the same ones in every call."""
        # The others are found only when needed: most problems are solved from the seed.
        return chained((self.start,), self._others(restarts, random_seed))

    def _others(self, restarts: int, random_seed: int) -> Iterator[Vector]:
        if not restarts:
            return
        starts = self.chain.starts(self.robot, random_seed)
        for positions in starts.toward(self.search.targets, restarts, self.wishes.position_only):
            if self.locked is not None:
                positions = np.where(self.locked, self.start, positions)
            yield positions

    def placed(self, positions: Vector) -> Placed:
        """The configuration with these positions and its error, apart from the search."""
        found = positions.tolist()
        nearest = self.chain.turned_to(found, self.start)
        q = self.q.copy()
        q[self.chain.q_index] = positions if nearest is found else nearest
        position, rotation = 0.0, 0.0
        for kernel, target in zip(self.chain.forward_kinematics, self.targets):
            error = pose_error(target, kernel.call(q))
            if self.slack is not None:
                error = (error.reshape(2, 3) @ target[:3, :3]).ravel()
                error -= np.clip(error, -self.slack, self.slack)
            x, y, z, a, b, c = error.tolist()
            position = max(position, math.sqrt(x * x + y * y + z * z))
            rotation = max(rotation, math.sqrt(a * a + b * b + c * c))
        return Placed(nearest, q, position, 0.0 if self.wishes.position_only else rotation)

    def confirmed(self, positions: Vector) -> Placed | None:
        """The solution with these positions, if it holds and is within the limits."""
        placed = self.placed(positions)
        holds = (
            placed.position_error <= self.wishes.position_tolerance
            and placed.rotation_error <= self.wishes.rotation_tolerance
            and self.chain.allows(placed.positions)
        )
        return placed if holds else None

    def result(
        self, placed: Placed, iterations: int, reason: str, began: float, known: bool = True
    ) -> InverseKinematicsResult:
        """The answer; q is NaN unless ``known``."""
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


def pose_problem(
    robot: Robot,
    target: ArrayLike,
    frame: str | Sequence[str],
    seed: ArrayLike | None,
    wishes: Wishes,
) -> Problem:
    """Check the arguments that every search has.

    Raises:
        InvalidArgumentError: an argument is of the wrong shape, not finite, or out of range.
    """
    frames = (frame,) if isinstance(frame, str) else tuple(frame)
    chain = chain_of(robot, frames)
    check_positive('position_tolerance', wishes.position_tolerance)
    check_positive('rotation_tolerance', wishes.rotation_tolerance)
    targets = _checked_targets(target, frame, len(frames), wishes.position_only)
    if seed is None:
        q, start = robot.neutral(), chain.centre
    else:
        q = _checked_seed(seed, robot.nq)
        start = q[chain.q_index]
        if not chain.allows(start.tolist()):
            start = np.clip(start, chain.lower, chain.upper)
    in_root_link = targets
    if robot.model.root_joint != 'fixed':
        X_0B = robot.forward_kinematics(q, robot.body_names[0])
        in_root_link = np.ascontiguousarray(np.linalg.inv(X_0B) @ targets)
    slack = None if wishes.slack is None else _checked_slack(wishes.slack)
    joints, locked = chain.joint_rows, None
    if wishes.joint_weights or wishes.locked_joints or wishes.posture is not None:
        joints, locked = _wished_joints(robot, chain, q, start, wishes)
    search = Search(
        chain.kernel,
        in_root_link,
        joints,
        _tasks(chain, slack, wishes.position_only),
        wishes.position_tolerance,
        wishes.rotation_tolerance,
    )
    far = _out_of_reach(chain, in_root_link, wishes.position_tolerance, slack)
    return Problem(robot, chain, targets, q, start, wishes, slack, locked, search, far)


def _checked_seed(seed: ArrayLike, size: int) -> Vector:
    if (
        isinstance(seed, np.ndarray)
        and seed.shape == (size,)
        and seed.dtype == np.float64
        # A sum of few numbers is quicker to ask than NumPy.
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


def _out_of_reach(chain: Chain, targets: Vector, tolerance: float, slack: Vector | None) -> bool:
    margin = tolerance
    if slack is not None:
        margin += float(np.linalg.norm(slack[:3]))
    for k, reach in enumerate(chain.reaches):
        point = (targets.item(k, 0, 3), targets.item(k, 1, 3), targets.item(k, 2, 3))
        if reach.excludes(point, margin):
            return True
    return False


def _checked_slack(slack: ArrayLike) -> Vector:
    values = per_entry('slack', slack, 6, least=0.0, infinite=True)
    if np.isinf(values).all():
        raise InvalidArgumentError('slack', 'all infinite', 'a direction that is not free')
    return values


def _tasks(chain: Chain, slack: Vector | None, position_only: bool) -> Vector:
    """Weight and slack of every error component, of every frame."""
    tasks = chain.tasks[position_only]
    if slack is None:
        return tasks
    tasks = tasks.copy()
    free = np.isinf(slack)
    tasks[:, 0, free] = 0.0
    tasks[:, 1] = np.where(free, 0.0, slack)
    return tasks


def _wished_joints(
    robot: Robot, chain: Chain, q: Vector, start: Vector, wishes: Wishes
) -> tuple[Vector, NDArray[np.bool_]]:
    """The ``joints`` of a step with weights, locks and posture, and which ones are locked."""
    joints = chain.joint_rows.copy()
    for name in wishes.locked_joints:
        if name not in robot.joint_names:
            raise UnknownJointError('locked_joints', name, robot.joint_names)
    weights = {**(wishes.joint_weights or {}), **dict.fromkeys(wishes.locked_joints, math.inf)}
    for name, weight in weights.items():
        if name not in robot.joint_names:
            raise UnknownJointError('joint_weights', name, robot.joint_names)
        if not weight > 0.0:
            raise InvalidArgumentError(
                'joint_weights', f'{weight} of {name!r}', 'a positive number'
            )
        if name in chain.names:
            joints[2, chain.names.index(name)] /= weight
    locked: NDArray[np.bool_] = joints[2] == 0.0
    if isinstance(wishes.posture, str):
        if wishes.posture not in POSTURES:
            raise InvalidArgumentError('posture', repr(wishes.posture), f'(nq) or {POSTURES}')
        liked = start if wishes.posture == 'seed' else chain.centre
    elif wishes.posture is not None:
        liked = finite_vector('posture', wishes.posture, robot.nq)[chain.q_index]
    else:
        liked = chain.centre
    joints[4] = np.clip(liked, joints[0], joints[1])
    return joints, locked
