# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Chains: the joints that move frames, with coordinates, limits, reach and starts of searches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.configuration import neutral
from dynamics_ros.algorithms.inverse_kinematics.step import moving_coordinates
from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.kernels import Kernel
from dynamics_ros.model import ROOT, Joint, Model
from dynamics_ros.model.joints import Revolute
from dynamics_ros.multibody.kernel_methods import MANY
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .search import UNBOUNDED

Vector = NDArray[np.float64]
Index = slice | NDArray[np.intp]
Supports = tuple[tuple[str, int], ...]
MultiDofJoints = tuple[tuple[str, NDArray[np.intp], Vector], ...]
"""For each joint: its name, the indices of its coordinates, and their values."""

TURN = 2.0 * math.pi
HALF_TURN = math.pi

FREE_STROKE = 1.0
"""Sampled distance to either side of a prismatic joint without limits [m]."""

MAX_STEP = 1.0
"""Largest step of one joint [rad, or multiples of the chain's length]; the linearization is not
valid for larger steps."""

MAX_KEPT = 8
"""Largest number of sets of starts that a chain stores."""


REACH_ROUNDOFF = 1e-9
"""Relative tolerance of the bound, because a stretched arm may reach it exactly."""


SORTED = 256
"""Number of starts that are sorted by their poses. More starts would hardly bring the nearest one
closer in six dimensions, and sorting would take longer than a search that fails."""

MIN_SPREAD = 1e-9
"""Spread of positions below which a frame only rotates [m]."""


class Reach:
    """A ball that contains the origin of a frame at all configurations of the joints.

    The root joint is at rest. The distance from the first joint to the frame is at most the sum of
    the offsets between joints, the strokes of prismatic joints, and the offset of the frame.

    Attributes:
        centre: (3) position of the first joint in the frame of the root link [m].
        radius: [m], infinite if there is no bound.
    """

    def __init__(self, model: Model, frame: str) -> None:
        """Compute the bound of a frame."""
        target = model.frame(frame)
        joints = [model.joints[body] for body in model.ancestors(target.body)]
        if model.root_joint != 'fixed':
            joints = joints[1:]
        self.centre, self.radius = (0.0, 0.0, 0.0), math.inf
        if joints:
            radius = target.placement.translation.norm()
            radius += sum(joint.placement.translation.norm() for joint in joints[1:])
            self.radius = float(radius + sum(map(model.stroke, joints)))
            shoulder = joints[0].placement.translation
            if joints[0].parent != ROOT:
                carrier = model.joints[joints[0].parent]
                shoulder = carrier.transform(neutral(model)).act(shoulder)
            x, y, z = shoulder
            self.centre = float(x), float(y), float(z)

    def excludes(self, position: Sequence[float], margin: float) -> bool:
        """Whether a point (3) in the frame of the root link is more than the margin [m] outside."""
        limit = (self.radius + margin) * (1.0 + REACH_ROUNDOFF)
        return math.dist(self.centre, position) > limit


class ClosedForm(NamedTuple):
    """Closed-form inverse kinematics of a chain with six free joints.

    Attributes:
        kernel: kernel of ``algorithms.inverse_kinematics.solutions.analytic_solutions``.
        exact: whether a target that no branch reaches is provably out of reach. This does not hold
            if the description rounds the geometry, because branches near a singular configuration
            may be missed; for a quartic equation, because one of two close roots may be missed; and
            for locked joints, because other axes may be parallel at special positions.
    """

    kernel: Kernel
    exact: bool


class Starts:
    """A fixed sequence of joint positions, with the poses of its first ones.

    A low-discrepancy sequence has no large gaps [Roberts2018]. A search that starts at a pose near
    the target converges faster and more often.
    """

    def __init__(
        self,
        robot: RigidBodySystem,
        frames: tuple[str, ...],
        q_index: slice | NDArray[np.intp],
        ranges: Vector,
        random_seed: int,
    ) -> None:
        """Create the sequence.

        Args:
            robot: the robot.
            frames: names of m frames.
            q_index: indices in q of the n joints that move them.
            ranges: (2, n) lower and upper ends of the positions [rad or m].
            random_seed: selects the sequence.
        """
        self._low, self._width = ranges[0], ranges[1] - ranges[0]
        self._increments = _increments(len(self._low))
        self._offset: Vector | float = 0.5
        if random_seed:
            self._offset = np.random.default_rng(random_seed).random(len(self._low))
        self._positions = self._sequence(0, SORTED)
        q = np.tile(robot.neutral(), (SORTED, 1))
        q[:, q_index] = self._positions
        poses = np.array([robot.forward_kinematics(q, frame) for frame in frames])
        points = poses[:, :, :3, 3]
        means = points.mean(axis=1, keepdims=True)
        spread = float(np.sqrt(np.square(points - means).sum(axis=2).mean()))
        self.spread = spread if spread > MIN_SPREAD else 1.0
        # |p - p*|^2 / L^2 + |R - R*|^2 / 2, without terms that are the same for all starts, is an
        # inner product with the entries of the targets plus a constant.
        features = np.zeros((SORTED, len(frames), 4, 4))
        linear = np.moveaxis(-2.0 * (points - means) / self.spread**2, 0, 1)
        features[:, :, :3, 3] = linear
        squares = np.square((points - means) / self.spread).sum(axis=(0, 2))
        self._constant = squares - (linear * means[:, 0]).sum(axis=(1, 2))
        positions_only = features.reshape(SORTED, -1).copy()
        features[:, :, :3, :3] = np.moveaxis(-poses[:, :, :3, :3], 0, 1)
        self._features = features.reshape(SORTED, -1), positions_only

    def toward(self, targets: Vector, count: int, position_only: bool) -> Iterator[Vector]:
        """Joint positions (n) of ``count`` starts.

        Args:
            targets: (m, 4, 4) desired poses.
            count: number of starts.
            position_only: ignore the rotation of the targets.
        """
        distances = self._features[position_only] @ targets.ravel() + self._constant
        if count:
            # Few searches need another start, so the others are not sorted yet.
            yield self._positions[distances.argmin()]
        for k in distances.argsort(kind='stable')[1:count].tolist():
            yield self._positions[k]
        for k in range(SORTED, count):
            yield self._sequence(k, k + 1)[0]

    def _sequence(self, first: int, last: int) -> Vector:
        terms = np.arange(first + 1, last + 1)[:, None]
        unit: Vector = (self._offset + terms * self._increments) % 1.0
        return self._low + self._width * unit


class Chain:
    """The n joints with one coordinate that move frames.

    With supports, the root joint is part of the chain and comes first: ``names`` and ``v_index``
    begin with its velocities, other arrays with its coordinates.

    Attributes:
        frames: names of the frames.
        supports: names of frames that are kept in place, with 3 rows for a position, 6 for a pose.
        multi_dof_joints: joints with several coordinates, which no search moves, with their neutral
            positions.
        root_nq, root_nv: number of coordinates and velocities of the root joint in the chain.
        names: (n) names of the joints, empty for velocities of the root joint.
        q_index: indices of the coordinates in q.
        v_index: indices of the velocities in v, the columns of a Jacobian.
        lower: (n) lower limits [rad or m], -inf if there is none.
        upper: (n) upper limits [rad or m], inf if there is none.
        turning: indices of revolute joints whose range contains a full turn. A search ignores their
            limits; the number of full turns is chosen afterwards.
        slides: (n) bool, whether a coordinate is a length.
        nominal: (nq) configuration of the robot without a seed, before its chain is placed.
        centre: (n) middle of the range; 0 for a joint without limits.
        sampled: (2, n) lower and upper ends of the range of start positions.
        reaches: for each frame a bound of the positions of its origin.
        length: length that has the weight of a radian [m]: the spread of the frames' origins about
            their mean.
        search: kernel of ``inverse_kinematics_search``.
        check: kernel of ``inverse_kinematics_check``.
        closed_forms: closed forms by names of locked joints; None if there is none.
    """

    def __init__(self, robot: RigidBodySystem, frames: tuple[str, ...], supports: Supports) -> None:
        """Find the joints; errors are those of `chain_of`."""
        model = robot.model
        _check_frames(robot, frames, supports)
        self.frames, self.supports = frames, supports
        placed = [*frames, *(name for name, _ in supports)]
        coordinates = moving_coordinates(model, [model.frame(name) for name in placed])
        q_index = np.array([q for q, _ in coordinates], dtype=np.intp)
        v_index = np.array([v for _, v in coordinates], dtype=np.intp)
        by_place = {place: name for name, place in robot.joint_q_indices.items()}
        names, options = [by_place[q] for q, _ in coordinates], frames
        limited = q_index - model.root_joint_nq
        lower, upper = robot.lower_limits[limited], robot.upper_limits[limited]
        movers = [[joint for joint in model.joints if v in joint.v_indices] for v in v_index]
        turning = np.array([all(map(_allows_full_turn, group)) for group in movers], dtype=bool)
        turning &= upper - lower >= TURN
        slides = np.array([any(any(joint.kind.slides) for joint in g) for g in movers])
        bounded = np.isfinite(lower) & np.isfinite(upper)
        middle = 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0))
        centre = np.clip(middle, lower, upper)
        sampled = _start_ranges(lower, upper, turning, slides, centre)
        root = model.joints[0]
        self.root_nq, self.root_nv = 0, 0
        if supports:
            # The root joint comes first. It has no limits, and starts do not move it.
            at_rest = np.array(root.kind.neutral())
            self.root_nq, self.root_nv = len(root.q_indices), len(root.v_indices)
            free = np.full(self.root_nq, np.inf)
            names = [''] * self.root_nv + names
            q_index, v_index = np.r_[root.q_indices, q_index], np.r_[root.v_indices, v_index]
            lower, upper, centre = np.r_[-free, lower], np.r_[free, upper], np.r_[at_rest, centre]
            turning = np.r_[np.zeros(self.root_nq, dtype=bool), turning]
            slides = np.r_[root.kind.slides, slides]
            sampled = np.hstack([np.array([at_rest, at_rest]), sampled])
            options = (*frames, '', *(str(x) for support in supports for x in support))
        self.names, self.nominal = tuple(names), robot.nominal()
        self.lower, self.upper, self.centre, self.slides = lower, upper, centre, slides
        self.turning: tuple[int, ...] = tuple(np.flatnonzero(turning).tolist())
        self.q_index, self.v_index = _as_slice(q_index), _as_slice(v_index)
        self.multi_dof_joints = _multi_dof_joints(robot, placed)
        self.reaches = tuple(Reach(model, frame) for frame in frames)
        self.search = robot.kernel('inverse_kinematics_search', *options)
        self.check = robot.kernel('inverse_kinematics_check', *options)
        self.sampled, starts = sampled, Starts(robot, frames, q_index, sampled, 0)
        self.length, self._starts = starts.spread, {0: starts}
        self.closed_forms: dict[tuple[str, ...], ClosedForm | None] = {}

    @computed_once
    def joint_rows(self) -> Vector:
        """``joints`` of a step (5, n): limits, mobility, 1 / largest step, preferred positions."""
        lower, upper = np.clip([self.lower, self.upper], -UNBOUNDED, UNBOUNDED)
        turning = list(self.turning)
        lower[turning], upper[turning] = -UNBOUNDED, UNBOUNDED
        unit = np.where(self.slides, self.length, 1.0)
        rows = np.zeros((5, len(unit)))
        rows[0], rows[1] = -UNBOUNDED, UNBOUNDED
        rows[2], rows[3] = unit**2, 1.0 / (MAX_STEP * unit)
        rows[:, self.root_nv :][[0, 1, 4]] = np.array([lower, upper, self.centre])[
            :, self.root_nq :
        ]
        return rows

    @computed_once
    def bounds(self) -> Vector:
        """``bounds`` of a check (3, n): limits, and 1 for joints in ``turning``."""
        lower, upper = np.clip([self.lower, self.upper], -UNBOUNDED, UNBOUNDED)
        turning = np.zeros(len(lower))
        turning[list(self.turning)] = 1.0
        return np.array([lower, upper, turning])

    @computed_once
    def tasks(self) -> tuple[Vector, Vector]:
        """``tasks`` of a step (m, 2, 6): for poses, and for positions alone."""
        whole = np.zeros((len(self.frames) + len(self.supports), 2, 6))
        whole[:, 0] = [1.0 / self.length] * 3 + [1.0] * 3
        positions = whole.copy()
        positions[: len(self.frames), 0, 3:] = 0.0
        return whole, positions

    def starts(self, robot: RigidBodySystem, random_seed: int) -> Starts:
        """Start positions of searches after the seed; several sets are stored."""
        starts = self._starts.get(random_seed)
        if starts is None:
            if len(self._starts) >= MAX_KEPT:
                self._starts.clear()
            starts = Starts(robot, self.frames, self.q_index, self.sampled, random_seed)
            self._starts[random_seed] = starts
        return starts

    @computed_once
    def _limits(self) -> tuple[list[float], list[float]]:
        return self.lower.tolist(), self.upper.tolist()

    def shifted_to(self, positions: list[float], seed: Vector) -> list[float]:
        """Shift turning joints by full turns to the allowed position that is nearest to the seed.

        Returns:
            A new list, or ``positions`` itself if no joint is shifted.
        """
        shifted = positions
        lower, upper = self._limits
        near = seed.tolist()
        for k in self.turning:
            value, low, high = positions[k], lower[k], upper[k]
            if -HALF_TURN <= value - near[k] <= HALF_TURN and low <= value <= high:
                continue
            turns = round((near[k] - value) / TURN)
            if turns < (low - value) / TURN:
                turns = math.ceil((low - value) / TURN)
            if turns > (high - value) / TURN:
                turns = math.floor((high - value) / TURN)
            shifted = list(positions) if shifted is positions else shifted
            shifted[k] = min(max(value + TURN * turns, low), high)
        return shifted

    def separation(self, first: Vector, second: Vector) -> float:
        """Largest difference of a joint [rad or m], modulo full turns for turning joints."""
        differences = np.abs(first - second).tolist()
        for k in self.turning:
            differences[k] = abs(math.remainder(differences[k], TURN))
        return max(differences)


def chain_of(robot: RigidBodySystem, frames: tuple[str, ...], supports: Supports = ()) -> Chain:
    """Chain that moves frames of a robot; it is created once and stored with the robot.

    Raises:
        UnknownFrameError: the robot does not have a frame.
        InvalidArgumentError: no joint moves a frame, or supports are given for a fixed root joint.
    """
    chains: dict[tuple[tuple[str, ...], Supports], Chain] = robot._kept.setdefault('chains', {})
    chain = chains.get((frames, supports))
    if chain is None:
        chain = chains[frames, supports] = Chain(robot, frames, supports)
        if len(chains) > MANY:
            del chains[next(iter(chains))]
    return chain


def _check_frames(robot: RigidBodySystem, frames: tuple[str, ...], supports: Supports) -> None:
    model = robot.model
    for name, _ in supports:
        if name not in model.frame_indices:
            raise UnknownFrameError('supports', name, robot.frame_names)
    if supports and model.root_joint == 'fixed':
        expected = "a root joint that moves: root_joint='floating' or 'planar'"
        raise InvalidArgumentError('supports', 'the root joint is fixed', expected)
    for name in frames or ('',):
        if name not in model.frame_indices:
            raise UnknownFrameError('frame', name, robot.frame_names)
        frame = model.frame(name)
        moved = frame.body != ROOT if supports else bool(moving_coordinates(model, [frame]))
        if not moved:
            # A search moves joints of one coordinate alone.
            several = [joint for joint, *_ in _multi_dof_joints(robot, [name])]
            by = f'only {", ".join(map(repr, several))}, of several coordinates,' if several else ''
            by = by or ('no joint' if model.root_joint == 'fixed' else 'only the root joint')
            expected = 'a frame that a joint of one coordinate moves'
            raise InvalidArgumentError('frame', f'{by} moves {name!r}', expected)


def _multi_dof_joints(robot: RigidBodySystem, frames: Sequence[str]) -> MultiDofJoints:
    """Joints with several coordinates, except the root joint, that move frames."""
    model, neutral = robot.model, robot.neutral()
    root = 0 if model.root_joint == 'fixed' else 1
    moving = {body for name in frames for body in model.ancestors(model.frame(name).body)}
    return tuple(
        (joint.name, np.array(joint.q_indices), neutral[list(joint.q_indices)])
        for body, joint in enumerate(model.joints)
        if body >= root and body in moving and joint.kind.nq > 1
    )


def _start_ranges(
    lower: Vector,
    upper: Vector,
    turning: NDArray[np.bool_],
    slides: NDArray[np.bool_],
    centre: Vector,
) -> Vector:
    """Ranges (2, n) of start positions: the limits, one turn for turning joints, else about 0."""
    reach = np.where(slides, FREE_STROKE, TURN)
    low = np.where(np.isfinite(lower), lower, np.minimum(centre, upper) - reach)
    high = np.where(np.isfinite(upper), upper, np.maximum(centre, lower) + reach)
    # A turning joint may be outside its limits here; it is shifted by full turns afterwards.
    low = np.where(turning, -HALF_TURN, low)
    high = np.where(turning, HALF_TURN, high)
    return np.array([low, high])


def _allows_full_turn(joint: Joint) -> bool:
    """Whether a full turn of its coordinate does not change the pose of a joint."""
    return isinstance(joint.kind, Revolute) and joint.multiplier.is_integer()


def _as_slice(index: NDArray[np.intp]) -> Index:
    """A slice if the indices are consecutive, because a view is much faster than a copy."""
    if len(index) and np.array_equal(index, np.arange(index[0], index[0] + len(index))):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index


def _increments(n: int) -> Vector:
    """Powers of 1 / g (n) with g^(n+1) = g + 1, the golden ratio of n dimensions [Roberts2018]."""
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (n + 1))
    powers: Vector = g ** -np.arange(1.0, n + 1.0)
    return powers
