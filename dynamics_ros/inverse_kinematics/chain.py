"""The joints that move a frame: where their coordinates lie, and how far they may go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..model import Joint

if TYPE_CHECKING:
    from ..robot import Robot

Index = slice | NDArray[np.intp]

TURN = 2.0 * math.pi

FREE_SLIDE = 1.0
"""How far from the seed a joint without limits that slides is sampled [m]."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The n one-coordinate joints that move a frame; the root joint is not among them.

    Attributes:
        q_index: their places in q.
        v_index: their places in v, the columns of a Jacobian.
        lower: (n) lower limits [rad or m], -inf where there is none.
        upper: (n) upper limits [rad or m], inf where there is none.
        turning: (n) bool, joints for which a full turn changes nothing and is allowed: the solver
            lets them run freely and picks the turn afterwards.
        reach: (n) how far from the seed a joint without limits is sampled [rad or m].
        centre: (n) middle of the range; 0 for a joint without limits.
    """

    q_index: Index
    v_index: Index
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    turning: NDArray[np.bool_]
    reach: NDArray[np.float64]
    centre: NDArray[np.float64]

    def sample(
        self, seed: NDArray[np.float64], generator: np.random.Generator
    ) -> NDArray[np.float64]:
        """Joint positions (n), uniform within the limits or, for free joints, about the seed."""
        bounded = ~self.turning & np.isfinite(self.lower) & np.isfinite(self.upper)
        # A turning joint may leave its limits here: a full turn brings it back.
        low = np.where(bounded, self.lower, seed - self.reach)
        high = np.where(bounded, self.upper, seed + self.reach)
        low = np.where(self.turning, low, np.maximum(low, self.lower))
        high = np.where(self.turning, high, np.minimum(high, self.upper))
        return generator.uniform(low, high)

    def turned_to(
        self, positions: NDArray[np.float64], seed: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same pose with every turning joint on the allowed turn that is nearest the seed."""
        least = np.ceil((self.lower - positions) / TURN)
        most = np.floor((self.upper - positions) / TURN)
        turns = np.clip(np.round((seed - positions) / TURN), least, most)
        moved = np.where(self.turning, positions + TURN * turns, positions)
        return np.clip(moved, self.lower, self.upper)

    def separation(
        self, first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Distance (n) joint by joint [rad or m], the shorter way round for a turning joint."""
        difference = np.abs(first - second)
        around = np.abs(difference - TURN * np.round(difference / TURN))
        return np.where(self.turning, around, difference)


_chains: WeakKeyDictionary[Robot, dict[str, Chain]] = WeakKeyDictionary()


def chain_of(robot: Robot, frame: str) -> Chain:
    """The chain that moves a frame; found once for a robot and kept as long as it lives."""
    chains = _chains.setdefault(robot, {})
    if frame not in chains:
        # Kernels are made at their first call, which must not eat up the time for a search.
        robot.forward_kinematics(robot.neutral(), frame)
        robot.jacobian(robot.neutral(), frame)
        chains[frame] = _find_chain(robot, frame)
    return chains[frame]


def _find_chain(robot: Robot, frame: str) -> Chain:
    model = robot.model
    joints = [model.joints[body] for body in model.ancestors(model.frame(frame).body)]
    names = [
        name
        for name, column in robot.joint_v_indices.items()
        if any(column in joint.v_indices for joint in joints)
    ]
    q_index = np.array([robot.joint_q_indices[name] for name in names], dtype=np.intp)
    v_index = np.array([robot.joint_v_indices[name] for name in names], dtype=np.intp)
    limited = q_index - model.root_joint_nq
    lower, upper = robot.lower_limits[limited], robot.upper_limits[limited]
    movers = [[joint for joint in joints if column in joint.v_indices] for column in v_index]
    turning = np.array([all(map(_turns_fully, group)) for group in movers], dtype=bool)
    turning &= upper - lower >= TURN
    slides = [any(joint.kind.name == 'prismatic' for joint in group) for group in movers]
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0))
    return Chain(
        q_index=_compact(q_index),
        v_index=_compact(v_index),
        lower=lower,
        upper=upper,
        turning=turning,
        reach=np.where(turning, 0.5 * TURN, np.where(slides, FREE_SLIDE, TURN)),
        centre=np.clip(middle, lower, upper),
    )


def _turns_fully(joint: Joint) -> bool:
    """Whether a full turn of its coordinate brings a joint back to the same pose."""
    return joint.kind.name in ('revolute', 'continuous') and joint.multiplier.is_integer()


def _compact(index: NDArray[np.intp]) -> Index:
    """A slice where the places are consecutive: a view is much quicker than a gathered copy."""
    if len(index) and np.array_equal(index, np.arange(index[0], index[0] + len(index))):
        return slice(int(index[0]), int(index[-1]) + 1)
    return index
