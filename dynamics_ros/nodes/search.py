"""A search for joint positions, as a request asks for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..robot import Robot
from .conversions import Array
from .request_kernels import kernel

if TYPE_CHECKING:
    from ..inverse_kinematics import InverseKinematicsResult

QUICK = 0.002
"""Seconds that messages may wait for a search: most are solved from the seed in less, and in
another thread would take longer for having to share the interpreter with the messages."""

MOST_SOLUTIONS = 64

_solved: WeakKeyDictionary[Robot, set[str]] = WeakKeyDictionary()
"""Frames that have been searched for once: whatever the solver has made ready for them is there."""


def warm_up(robot: Robot, frame: str) -> None:
    """Have the solver make ready what it needs for a frame."""
    q = robot.neutral()
    robot.inverse_kinematics(robot.forward_kinematics(q, frame), frame, q)
    _solved.setdefault(robot, set()).add(frame)


@dataclass(frozen=True)
class Outcome:
    """Solutions, the best first, or one result that says why there is none; and the time [s]."""

    results: list[InverseKinematicsResult]
    seconds: float


@dataclass(frozen=True)
class Search:
    """What is searched for.

    Attributes:
        frame: to bring to the target.
        target: (4, 4) in the carrier.
        carrier: the frame that the target is given in, at the seed; '' for the root frame.
        seed: (nq).
        count: how many solutions at most.
        approximate: take the closest configuration when there is no solution.
        timeout: s.
        options: further ones of the solver.
    """

    frame: str
    target: Array
    carrier: str
    seed: Array
    count: int
    approximate: bool
    timeout: float
    options: Mapping[str, Any]

    def kernels(self) -> list[str]:
        """The kernels that it takes."""
        frames = [name for name in (self.frame, self.carrier) if name]
        return [
            *(kernel('forward_kinematics', name) for name in frames),
            kernel('inverse_kinematics_step', self.frame),
        ]

    def quick(self, robot: Robot) -> Outcome | None:
        """The outcome, if there is one at once."""
        if self.count > 1 or self.frame not in _solved.get(robot, ()):
            return None
        if not robot.kernels.keys() >= set(self.kernels()):
            return None
        outcome = self._one(robot, min(QUICK, self.timeout))
        return outcome if outcome.results[0].success else None

    def run(self, robot: Robot) -> Outcome:
        """The outcome, after the timeout at the latest."""
        if self.count > 1:
            started = time.monotonic()
            found = robot.all_inverse_kinematics(
                self._target(robot),
                self.frame,
                self.seed,
                max_solutions=min(self.count, MOST_SOLUTIONS),
                timeout=self.timeout,
                **self.options,
            )
            if found:
                return Outcome(list(found), time.monotonic() - started)
        return self._one(robot, self.timeout)

    def _one(self, robot: Robot, timeout: float) -> Outcome:
        result = robot.inverse_kinematics(
            self._target(robot),
            self.frame,
            self.seed,
            approximate=self.approximate,
            timeout=timeout,
            **self.options,
        )
        return Outcome([result], result.elapsed)

    def _target(self, robot: Robot) -> Array:
        if not self.carrier:
            return self.target
        carried: Array = robot.forward_kinematics(self.seed, self.carrier) @ self.target
        return carried
