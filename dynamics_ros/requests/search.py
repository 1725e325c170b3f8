# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A search for joint positions, as a request asks for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.robot import Robot

from .kernel_twin import kernel

if TYPE_CHECKING:
    from dynamics_ros.inverse_kinematics import InverseKinematicsResult

Array = NDArray[np.float64]

REASONS = {
    'timed_out': 'no solution within the time limit',
    'unreachable': 'the target is out of reach',
    'stalled': 'no start led to a solution',
}
"""Why a search may end without a solution."""

QUICK = 0.002
"""Seconds that messages may wait for a search: most are solved from the seed in less, and in
another thread would take longer for having to share the interpreter with the messages."""

MAX_SOLUTIONS = 64

WORTH_WHILE = 0.1
"""A search that other searches have left less than this share of its time is not begun."""

SEVERAL = 0.8
"""Share of the time for several solutions; the rest tells why there is none."""

_solved: WeakKeyDictionary[Robot, set[tuple[str, ...]]] = WeakKeyDictionary()
"""Frames that have been searched for once: whatever the solver has made ready for them is there."""


class SearchError(DynamicsRosError):
    """A search has ended without a solution.

    Attributes:
        reason: one of ``REASONS``.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @classmethod
    def of(cls, result: InverseKinematicsResult) -> SearchError:
        """Why a search ended without a solution."""
        text = (
            f'{REASONS[result.reason]}; the closest was {result.position_error:.3g} m and '
            f'{result.rotation_error:.3g} rad away after {result.iterations} iterations'
        )
        return cls(result.reason, text)


def warm_up(robot: Robot, frame: str) -> None:
    """Have the solver make ready what it needs for a frame."""
    q = robot.neutral()
    robot.inverse_kinematics(robot.forward_kinematics(q, frame), frame, q)
    _solved.setdefault(robot, set()).add((frame,))


@dataclass(frozen=True)
class Target:
    """Where a frame shall be.

    Attributes:
        frame: what is brought there.
        pose: (4, 4) in the carrier.
        carrier: the frame that the pose is given in, at the seed; '' for the root frame.
    """

    frame: str
    pose: Array
    carrier: str


@dataclass(frozen=True)
class Outcome:
    """What a search came to.

    Attributes:
        results: solutions, the nearest to the seed first, or one that says why there is none.
        seconds: time that it took.
        limit_margins, manipulabilities: of each solution.
    """

    results: list[InverseKinematicsResult]
    seconds: float
    limit_margins: list[float] = field(default_factory=list)
    manipulabilities: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Search:
    """What is searched for.

    Attributes:
        targets: of one frame or several.
        seed: (nq).
        count: how many solutions at most.
        approximate: take the closest configuration when there is no solution.
        timeout: s, of which those count that it waits for other searches, and its own.
        options: further ones of the solver.
        of_several: further ones where several solutions are searched for.
        received: when, by time.monotonic().
    """

    targets: tuple[Target, ...]
    seed: Array
    count: int
    approximate: bool
    timeout: float
    options: Mapping[str, Any]
    of_several: Mapping[str, Any] = field(default_factory=dict)
    received: float = field(default_factory=time.monotonic)

    @property
    def frames(self) -> tuple[str, ...]:
        """What is brought to its target."""
        return tuple(target.frame for target in self.targets)

    def kernels(self) -> list[str]:
        """The kernels that it takes beside those of the solver."""
        carriers = (target.carrier for target in self.targets if target.carrier)
        return [
            *(kernel('forward_kinematics', name) for name in (*self.frames, *carriers)),
            *(kernel('jacobian', name, 'local_world_aligned') for name in self.frames),
        ]

    def quick(self, robot: Robot) -> Outcome | None:
        """The outcome, if there is one at once."""
        if self.count > 1 or self.frames not in _solved.get(robot, ()):
            return None
        if not robot.kernels.keys() >= set(self.kernels()):
            return None
        outcome = self._one(robot, min(QUICK, self.timeout))
        return outcome if outcome.results[0].success else None

    def run(self, robot: Robot, free_since: float) -> Outcome:
        """The outcome; what is compiled first, or a busy machine, takes nothing of the time.

        Args:
            robot: that is searched for.
            free_since: when the search before it had ended, by time.monotonic().

        Raises:
            SearchError: other searches have taken the time.
        """
        left = self.timeout - max(free_since - self.received, 0.0)
        if left < WORTH_WHILE * self.timeout:
            text = f'other searches have taken all of its {self.timeout:g} s; ask again'
            raise SearchError('timed_out', text)
        if self.count == 1:
            return self._one(robot, left)
        started = time.monotonic()
        found = robot.all_inverse_kinematics(
            self._poses(robot),
            self._frames(),
            self.seed,
            max_solutions=min(self.count, MAX_SOLUTIONS),
            timeout=SEVERAL * left,
            **self.options,
            **self.of_several,
        )
        took = time.monotonic() - started
        if not found:
            return self._one(robot, max(left - took, (1.0 - SEVERAL) * left))
        return _described(list(found), took)

    def _one(self, robot: Robot, timeout: float) -> Outcome:
        result = robot.inverse_kinematics(
            self._poses(robot),
            self._frames(),
            self.seed,
            approximate=self.approximate,
            timeout=timeout,
            **self.options,
        )
        _solved.setdefault(robot, set()).add(self.frames)
        return _described([result], result.elapsed)

    def _frames(self) -> Any:
        return self.frames if len(self.frames) > 1 else self.frames[0]

    def _poses(self, robot: Robot) -> Array:
        """(4, 4) or (m, 4, 4) in the root frame."""
        poses = [
            robot.forward_kinematics(self.seed, target.carrier) @ target.pose
            if target.carrier
            else target.pose
            for target in self.targets
        ]
        return np.array(poses) if len(poses) > 1 else poses[0]


def _described(results: list[InverseKinematicsResult], seconds: float) -> Outcome:
    if not results[0].success:
        return Outcome(results, seconds)
    return Outcome(
        results,
        seconds,
        [result.limit_margin for result in results],
        [result.manipulability for result in results],
    )
