# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One local search: a compiled loop of steps, until the frames arrive or progress ends."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.inverse_kinematics.search import PROGRESS
from dynamics_ros.kernels import Kernel

Vector = NDArray[np.float64]

DAMPING = 0.03
"""Ratio of the damping to the squared error [Sugihara2011]."""

CLOCK_STEPS = 4
"""How often a search as plain Python looks at the clock: a step takes a tenth of a millisecond. As
machine code a whole search does."""

SEARCH_STEPS = 40
"""A search that gets there needs some ten steps; a new start is worth more than a slow approach."""

APPROACH_STEPS = 200
"""Of a descent to a closest approach; its rate is linear where the target is out of reach."""

APPROACH_RESOLUTION = 1e-13
"""Relative gain of a step that ends a descent."""

APPROACH_IDLE = 2
"""So many of them in a row do."""

MAX_DAMPING = 1e9
"""A step that still fails under this damping is below the resolution of the arithmetic."""

SETTLING_STEPS = 50
PULL = 0.3
"""Share of the way to a liked posture that a step goes; halves it in two steps."""

SETTLED = 1e-4
"""Move of a step, over its allowance, that ends the way to a posture."""

INSIDE = 0.99
"""Share of the tolerances that a search aims at: the check by other formulas differs by rounding,
and the last step gains many digits anyway."""


ASSURED = 0.1
"""Share of the time that a search may use its processor for, however late it is: being kept waiting
by other processes is no reason to give up with nothing done."""


class Deadline(NamedTuple):
    """The time at which a search has to stop.

    Attributes:
        wall: on the clock of ``time.perf_counter`` [s].
        processor: on that of ``time.thread_time`` [s], also to be passed.
    """

    wall: float
    processor: float

    @classmethod
    def after(cls, began: float, share: float, timeout: float) -> Deadline:
        """The end of a share of the time [s] of a call that began then."""
        return cls(began + share * timeout, time.thread_time() + ASSURED * timeout)

    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.wall and time.thread_time() > self.processor


class End(NamedTuple):
    """Where a search ended: joint positions (n), whether at the target, squared error, steps."""

    positions: Vector
    arrived: bool
    cost: float
    steps: int


class Search:
    """What does not change from target to target, in the form that the compiled search takes.

    What is minimised is the squared length of the error, the position over the chain's length.

    Attributes:
        kernel: ``algorithms.inverse_kinematics_search``, of m frames and n joints.
        frames: how many of the targets are no supports.
        joints: (5, n) limits, mobility, allowance and liked positions.
        tasks: (m, 2, 6) weights and slack.
        near: square of the position error that counts as arrived [m^2].
        aligned: square of the rotation error that counts as arrived [rad^2].
    """

    def __init__(
        self,
        kernel: Kernel,
        frames: int,
        joints: Vector,
        tasks: Vector,
        near: float,
        aligned: float,
    ) -> None:
        """Keep the numbers."""
        self.frames = frames
        self.kernel = kernel
        self.joints = joints
        self.tasks = tasks
        self.near = near
        self.aligned = aligned
        self._options = (DAMPING, 0.0, near, aligned, 0.0)
        self._settings = np.array([*self._options, SEARCH_STEPS])

    def of_supports(self) -> Search:
        """A search with the same settings whose only targets are the supports."""
        tasks = self.tasks.copy()
        tasks[: self.frames, 0] = 0.0
        return Search(self.kernel, self.frames, self.joints, tasks, self.near, self.aligned)

    def run(self, start: Vector, targets: Vector, deadline: Deadline | None) -> End:
        """Search from joint positions until arrived, too slow, or out of time.

        Args:
            start: (n) joint positions.
            targets: (m, 4, 4) wanted poses in the root link.
            deadline: when to stop; None for not before the search has ended by itself.
        """
        if deadline is None:
            positions, progress = self.kernel.call(
                start, _BEGINNING, targets, self.joints, self.tasks, self._settings
            )
        else:
            positions, progress = self._in_pieces(
                start, _BEGINNING, targets, self._options, SEARCH_STEPS, deadline
            )
        position, rotation, cost, _, _, _, steps = progress.tolist()
        return End(positions, position <= self.near and rotation <= self.aligned, cost, int(steps))

    @property
    def compiled(self) -> bool:
        """Whether a whole search takes less than looking at the clock is worth."""
        return self.kernel.backend == 'llvm'

    def _in_pieces(
        self,
        positions: Vector,
        progress: Vector,
        targets: Vector,
        options: tuple[float, ...],
        most: int,
        deadline: Deadline,
    ) -> tuple[Vector, Vector]:
        """Where so many steps lead at most, and what is known there."""
        size = most if self.compiled else CLOCK_STEPS
        done = 0
        while done < most and not (done and deadline.passed()):
            done = min(done + size, most)
            positions, progress = self.kernel.call(
                positions, progress, targets, self.joints, self.tasks, np.array([*options, done])
            )
            if progress.item(PROGRESS - 1) < done:
                break
        return positions, progress

    def approach(self, start: Vector, targets: Vector, rotation: float, deadline: Deadline) -> End:
        """Descend to the closest approach, however slow: each step must gain.

        Args:
            start: (n) joint positions.
            targets: (m, 4, 4) wanted poses in the root link.
            rotation: how much a radian counts beside the chain's length.
            deadline: when to stop.
        """
        tasks = self.tasks.copy()
        tasks[: self.frames, 0, 3:] *= rotation

        def step(positions: Vector, damping: float) -> tuple[Vector, float]:
            """The next positions, and the cost of these."""
            settings = np.array([damping, 0.0, NEVER, NEVER, 0.0, 1.0])
            following, progress = self.kernel.call(
                positions, _UNTIRING, targets, self.joints, tasks, settings
            )
            return following, progress.item(2)

        here, damping = start, DAMPING
        there, cost = step(here, damping)
        steps, idle = 0, 0
        while steps < APPROACH_STEPS and idle < APPROACH_IDLE and not deadline.passed():
            steps += 1
            beyond, reached = step(there, damping)
            if reached < cost:
                idle = idle + 1 if reached > (1.0 - APPROACH_RESOLUTION) * cost else 0
                here, there, cost = there, beyond, reached
                damping *= 0.5
            elif damping < MAX_DAMPING:
                damping *= 4.0
                there, _ = step(here, damping)
            else:
                break
        return End(here, False, cost, steps)

    def settle(self, start: Vector, targets: Vector, deadline: Deadline) -> End:
        """Move on along the solutions to the one nearest the liked positions.

        Args:
            start: (n) a solution.
            targets: (m, 4, 4) wanted poses in the root link.
            deadline: when to stop.
        """
        options = (DAMPING, PULL, NEVER, NEVER, SETTLED)
        settled, _ = self._in_pieces(start, _UNTIRING, targets, options, SETTLING_STEPS, deadline)
        return self.run(settled, targets, deadline)


NEVER = -1.0
"""A square that no error is below."""


_BEGINNING = np.array([*[0.0] * (PROGRESS - 3), 1e300, 0.0, 0.0])
_UNTIRING = np.array([*[0.0] * (PROGRESS - 3), 0.0, -1e300, 0.0])
"""What is known of a search at its beginning; of one that does not mind to be without progress."""
