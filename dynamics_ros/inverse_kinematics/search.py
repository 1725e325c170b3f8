# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A local search: a compiled loop of steps until convergence or until progress stops."""

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
"""Steps between two checks of the clock in plain Python, where a step takes some 0.1 ms.
In machine code a whole search takes about as long."""

SEARCH_STEPS = 40
"""Step limit of a search. A search that converges needs about ten steps; a new start is better than
slow progress."""

APPROACH_STEPS = 200
"""Step limit of a descent to a closest approach, whose convergence is linear."""

APPROACH_RESOLUTION = 1e-13
"""Relative reduction of the cost below which a step of a descent counts as idle."""

APPROACH_IDLE = 2
"""Number of consecutive idle steps that end a descent."""

MAX_DAMPING = 1e9
"""Damping at which a descent ends, because its steps are below the rounding errors."""

SETTLING_STEPS = 50
PULL = 0.3
"""Fraction of the distance to a preferred posture per step; two steps halve the distance."""

SETTLED = 1e-4
"""Joint step, relative to its limit, below which the approach to a posture ends."""

INSIDE = 0.99
"""Fraction of the tolerances at which a search ends, because the check uses other formulas, which
differ by rounding. The last step usually gains many digits anyway."""


ASSURED = 0.1
"""Fraction of the timeout that a search may use as processor time, even if it is late because other
processes used the processor."""


class Deadline(NamedTuple):
    """Deadline of a search; it has passed when both times have passed.

    Attributes:
        wall: time of ``time.perf_counter`` [s].
        processor: time of ``time.thread_time`` [s].
    """

    wall: float
    processor: float

    @classmethod
    def after(cls, began: float, share: float, timeout: float) -> Deadline:
        """Deadline at a fraction ``share`` of the timeout [s] of a call that began at ``began``."""
        return cls(began + share * timeout, time.thread_time() + ASSURED * timeout)

    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.wall and time.thread_time() > self.processor


class End(NamedTuple):
    """End of a search: joint positions (n), whether converged, cost, number of steps."""

    positions: Vector
    arrived: bool
    cost: float
    steps: int


class Search:
    """A local search with constant settings, for any target.

    The cost is the squared norm of the error, with positions divided by the length of the chain.

    Attributes:
        kernel: kernel of ``inverse_kinematics_search`` for m frames and n joints.
        frames: number of targets that are not supports.
        joints: (5, n) limits, mobility, 1 / largest step, preferred positions.
        tasks: (m, 2, 6) weights and tolerated errors.
        near: squared position error of convergence [m^2].
        aligned: squared rotation error of convergence [rad^2].
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
        """Store the settings."""
        self.frames = frames
        self.kernel = kernel
        self.joints = joints
        self.tasks = tasks
        self.near = near
        self.aligned = aligned
        self._options = (DAMPING, 0.0, near, aligned, 0.0)
        self._settings = np.array([*self._options, SEARCH_STEPS])

    def of_supports(self) -> Search:
        """Search with the same settings for the supports alone, without the frames."""
        tasks = self.tasks.copy()
        tasks[: self.frames, 0] = 0.0
        return Search(self.kernel, self.frames, self.joints, tasks, self.near, self.aligned)

    def run(self, start: Vector, targets: Vector, deadline: Deadline | None) -> End:
        """Search from joint positions until convergence, slow progress, or the deadline.

        Args:
            start: (n) joint positions.
            targets: (m, 4, 4) desired poses in the root link.
            deadline: time to stop; None for no time limit.
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
        """Whether the search is machine code, so fast that the clock is not checked during it."""
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
        """Positions and progress after at most ``most`` steps; the clock is checked in between."""
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
        """Descend to the closest approach: every accepted step reduces the cost.

        Args:
            start: (n) joint positions.
            targets: (m, 4, 4) desired poses in the root link.
            rotation: factor of the weights of rotations.
            deadline: time to stop.
        """
        tasks = self.tasks.copy()
        tasks[: self.frames, 0, 3:] *= rotation

        def step(positions: Vector, damping: float) -> tuple[Vector, float]:
            """Next positions, and the cost of the given ones."""
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
        """Move within the set of solutions towards the preferred positions.

        Args:
            start: (n) a solution.
            targets: (m, 4, 4) desired poses in the root link.
            deadline: time to stop.
        """
        options = (DAMPING, PULL, NEVER, NEVER, SETTLED)
        settled, _ = self._in_pieces(start, _UNTIRING, targets, options, SETTLING_STEPS, deadline)
        return self.run(settled, targets, deadline)


NEVER = -1.0
"""Squared tolerance that is never reached."""


_BEGINNING = np.array([*[0.0] * (PROGRESS - 3), 1e300, 0.0, 0.0])
_UNTIRING = np.array([*[0.0] * (PROGRESS - 3), 0.0, -1e300, 0.0])
"""Initial progress of a search: ``_BEGINNING``, and ``_UNTIRING`` to continue without progress."""
