# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Search of inverse kinematics for a request, with its time limit and result."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
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
"""Descriptions of the reasons for which a search may end without a solution."""

MAX_BLOCKING_TIME = 0.002
"""Maximum time of a search in the executor's thread [s]. Most searches succeed from the seed in
less; in another thread they would take longer, because they share the interpreter."""

MAX_SOLUTIONS = 64

MIN_TIME_SHARE = 0.1
"""A search is not started if waiting for other searches has left less than this share of its
time limit."""

SEVERAL_SHARE = 0.8
"""Share of the time limit for the search for several solutions; if it finds none, the rest is used
to find the reason."""

_solved: WeakKeyDictionary[Robot, set[tuple[str, ...]]] = WeakKeyDictionary()
"""Sets of frames of previous searches, for which the solver is already prepared."""


class SearchError(DynamicsRosError):
    """A search ended without a solution.

    Attributes:
        reason: one of ``REASONS``.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @classmethod
    def of(cls, result: InverseKinematicsResult) -> SearchError:
        """Return the error for a result without a solution."""
        text = (
            f'{REASONS[result.reason]}; the closest was {result.position_error:.3g} m and '
            f'{result.rotation_error:.3g} rad away after {result.iterations} iterations'
        )
        return cls(result.reason, text)


def warm_up(robot: Robot, frame: str) -> None:
    """Run a search for a frame once, so that the solver is prepared for it."""
    q = robot.neutral()
    robot.inverse_kinematics(robot.forward_kinematics(q, frame), frame, q)
    _solved.setdefault(robot, set()).add((frame,))


@dataclass(frozen=True)
class Target:
    """Target pose of a frame.

    Attributes:
        frame: the frame to move.
        pose: target pose (4, 4) in the frame ``carrier``.
        carrier: frame of the pose, at the configuration of the seed; '' for the root frame.
    """

    frame: str
    pose: Array
    carrier: str


@dataclass(frozen=True)
class Outcome:
    """Result of a search.

    Attributes:
        results: solutions, the nearest to the seed first, or one result without success.
        seconds: duration of the search [s].
        limit_margins, manipulabilities: margin to the joint limits and manipulability of each
            solution.
    """

    results: list[InverseKinematicsResult]
    seconds: float
    limit_margins: list[float] = field(default_factory=list)
    manipulabilities: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Search:
    """Search of inverse kinematics.

    Attributes:
        targets: targets of one or several frames.
        seed: configuration from which the search starts (nq).
        count: maximum number of solutions.
        approximate: whether to return the closest configuration if there is no solution.
        timeout: time limit, including the time spent waiting for other searches [s].
        options: further options of the solver.
        several_options: further options of a search for several solutions.
        received: time of the request by time.monotonic() [s].
    """

    targets: tuple[Target, ...]
    seed: Array
    count: int
    approximate: bool
    timeout: float
    options: Mapping[str, Any]
    several_options: Mapping[str, Any] = field(default_factory=dict)
    received: float = field(default_factory=time.monotonic)

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames to move."""
        return tuple(target.frame for target in self.targets)

    def kernels(self) -> list[str]:
        """Return the names of the needed kernels, other than those of the solver."""
        carriers = (target.carrier for target in self.targets if target.carrier)
        return [
            *(kernel('forward_kinematics', name) for name in (*self.frames, *carriers)),
            *(kernel('jacobian', name, 'local_world_aligned') for name in self.frames),
        ]

    def quick(self, robot: Robot) -> Outcome | None:
        """Return the outcome if a search succeeds within ``MAX_BLOCKING_TIME``, otherwise None."""
        if self.count > 1 or self.frames not in _solved.get(robot, ()):
            return None
        if not robot.kernels.keys() >= set(self.kernels()):
            return None
        outcome = self._search_one(robot, min(MAX_BLOCKING_TIME, self.timeout))
        return outcome if outcome.results[0].success else None

    def run(self, robot: Robot, free_since: float) -> Outcome:
        """Run the search and return its outcome.

        Only time spent waiting for the previous searches counts towards the time limit, not
        compilation or the delays of a busy machine before the search.

        Args:
            robot: the robot.
            free_since: end of the previous search by time.monotonic() [s].

        Raises:
            SearchError: other searches have used up the time limit.
        """
        remaining = self.timeout - max(free_since - self.received, 0.0)
        if remaining < MIN_TIME_SHARE * self.timeout:
            text = f'other searches have taken all of its {self.timeout:g} s; ask again'
            raise SearchError('timed_out', text)
        if self.count == 1:
            return self._search_one(robot, remaining)
        started = time.monotonic()
        found = robot.all_inverse_kinematics(
            self._poses(robot),
            self._frames(),
            self.seed,
            max_solutions=min(self.count, MAX_SOLUTIONS),
            timeout=SEVERAL_SHARE * remaining,
            **self.options,
            **self.several_options,
        )
        elapsed = time.monotonic() - started
        if not found:
            return self._search_one(
                robot, max(remaining - elapsed, (1.0 - SEVERAL_SHARE) * remaining)
            )
        return _outcome(list(found), elapsed)

    def _search_one(self, robot: Robot, timeout: float) -> Outcome:
        result = robot.inverse_kinematics(
            self._poses(robot),
            self._frames(),
            self.seed,
            approximate=self.approximate,
            timeout=timeout,
            **self.options,
        )
        _solved.setdefault(robot, set()).add(self.frames)
        return _outcome([cast('InverseKinematicsResult', result)], result.elapsed)

    def _frames(self) -> Any:
        return self.frames if len(self.frames) > 1 else self.frames[0]

    def _poses(self, robot: Robot) -> Array:
        """Return the target pose (4, 4), or several (m, 4, 4), in the root frame."""
        poses = [
            robot.forward_kinematics(self.seed, target.carrier) @ target.pose
            if target.carrier
            else target.pose
            for target in self.targets
        ]
        return np.array(poses) if len(poses) > 1 else poses[0]


def _outcome(results: list[InverseKinematicsResult], seconds: float) -> Outcome:
    if not results[0].success:
        return Outcome(results, seconds)
    return Outcome(
        results,
        seconds,
        [result.limit_margin for result in results],
        [result.manipulability for result in results],
    )
