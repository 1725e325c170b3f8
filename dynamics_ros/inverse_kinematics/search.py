# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A local search: a compiled loop of steps until convergence or until progress stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.inverse_kinematics.search import PROGRESS
from dynamics_ros.kernels import Kernel

Vector = NDArray[np.float64]

UNBOUNDED = 1e9
"""Finite number that represents a missing limit in computations [rad or m]."""

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

TURN_RESOLUTION = 1e-9
"""Like ``APPROACH_RESOLUTION``, for a descent of the rotation at a position."""

APPROACH_IDLE = 2
"""Number of consecutive idle steps that end a descent."""

MAX_DAMPING = 1e9
"""Damping at which a descent ends, because its steps are below the rounding errors."""

ROTATION_AT_POSITION = 1e-3
"""Weight of rotations in a step that minimizes them: so small that it lies in the null space of the
positions, up to its square."""

KEPT_POSITION = 1e-7
"""Position error of a descent of the rotation [m]."""

NEAR_LIMIT = 0.1
"""Share of a step of the rotation below which a joint on its way counts as at its limit."""

SETTLING_STEPS, SLIDING_STEPS = 50, 40
"""Step limits of an approach to a preferred posture, and of the rotation at a position."""

PULL = 0.3
"""Fraction of the distance to a preferred posture per step; two steps halve the distance."""

SETTLED = 1e-4
"""Joint step, relative to its limit, below which the approach to a posture ends."""

TOLERANCE_FRACTION = 0.99
"""Fraction of the tolerances at which a search ends, because the check uses other formulas, which
differ by rounding. The last step usually gains many digits anyway."""


GUARANTEED_FRACTION = 0.1
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
        return cls(began + share * timeout, time.thread_time() + GUARANTEED_FRACTION * timeout)

    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.wall and time.thread_time() > self.processor


class End(NamedTuple):
    """End of a search: joint positions (n), whether converged, cost, number of steps."""

    positions: Vector
    arrived: bool
    cost: float
    steps: int


class Search(NamedTuple):
    """A local search for targets.

    The cost is the squared norm of the error, with positions divided by the length of the chain.

    Attributes:
        kernel: kernel of ``inverse_kinematics_search`` for m frames and n joints.
        frames: number of targets that are not supports.
        targets: (m, 4, 4) desired poses in the root link.
        joints: (5, n) limits, mobility, 1 / largest step, preferred positions.
        tasks: (m, 2, 6) weights and tolerated errors.
        ends: squared position and rotation error of convergence [m^2, rad^2], and the settings of a
            whole search with these.
    """

    kernel: Kernel
    frames: int
    targets: Vector
    joints: Vector
    tasks: Vector
    ends: tuple[float, float, Vector]

    def weighted(self, positions: float, rotations: float) -> Vector:
        """``tasks`` with factors of the weights of the frames, without those of supports."""
        tasks = self.tasks.copy()
        tasks[: self.frames, 0, :3] *= positions
        tasks[: self.frames, 0, 3:] *= rotations
        return tasks

    def of_supports(self) -> Search:
        """The search for the supports alone, without the frames."""
        return self._replace(tasks=self.weighted(0.0, 0.0))

    def of_positions(self) -> Search:
        """The search for the positions of frames, with a smaller tolerance."""
        near, aligned, _ = self.ends
        ends = ends_at(min(near, KEPT_POSITION**2), aligned)
        return self._replace(tasks=self.weighted(1.0, 0.0), ends=ends)

    def run(self, start: Vector, deadline: Deadline | None) -> End:
        """Search from joint positions until convergence, slow progress, or the deadline.

        Args:
            start: (n) joint positions.
            deadline: time to stop; None for no time limit.
        """
        near, aligned, settings = self.ends
        if deadline is None:
            positions, progress = self.kernel.call(
                start, _INITIAL_PROGRESS, self.targets, self.joints, self.tasks, settings
            )
        else:
            positions, progress = self._in_pieces(start, _INITIAL_PROGRESS, settings, deadline)
        position, rotation, cost, _, _, _, steps = progress.tolist()
        return End(positions, position <= near and rotation <= aligned, cost, int(steps))

    @property
    def compiled(self) -> bool:
        """Whether the search is machine code, so fast that the clock is not checked during it."""
        return self.kernel.backend == 'llvm'

    def _in_pieces(
        self, positions: Vector, progress: Vector, settings: Vector, deadline: Deadline | None
    ) -> tuple[Vector, Vector]:
        """Positions and progress of a search; the clock is checked in between."""
        steps, settings, max_steps = 0, settings.copy(), int(settings[-1])
        size = max_steps if self.compiled else CLOCK_STEPS
        while steps < max_steps and not (steps and deadline and deadline.passed()):
            steps = settings[-1] = min(steps + size, max_steps)
            positions, progress = self.kernel.call(
                positions, progress, self.targets, self.joints, self.tasks, settings
            )
            if progress.item(PROGRESS - 1) < steps:
                break
        return positions, progress

    def _step(self, positions: Vector, damping: float) -> tuple[Vector, float]:
        """Positions after one damped step, and the cost of the given ones."""
        settings = np.array([damping, 0.0, NEVER, NEVER, 0.0, 1.0])
        following, progress = self.kernel.call(
            positions, _ENDLESS_PROGRESS, self.targets, self.joints, self.tasks, settings
        )
        return following, progress.item(2)

    def approach(self, start: Vector, rotation: float, deadline: Deadline) -> End:
        """Descend to the closest approach: every accepted step reduces the cost.

        Args:
            start: (n) joint positions.
            rotation: factor of the weights of rotations.
            deadline: time to stop.
        """
        step = self._replace(tasks=self.weighted(1.0, rotation))._step
        finish = lambda positions: End(positions, True, 0.0, 0)  # noqa: E731
        return _descent(start, step, finish, APPROACH_RESOLUTION, deadline)

    def slide(self, start: Vector, place: Search, clock: Deadline | None) -> End:
        """Reduce the rotation error at the positions of the frames; inexact where limits bind.

        Args:
            start: (n) joint positions that bring the frames to their positions.
            place: search for positions.
            clock: time to stop; None for no time limit.

        Returns:
            The end, whose cost is that of the rotations; ``start`` if it is better.
        """
        free = self._replace(tasks=self.weighted(1.0, ROTATION_AT_POSITION))
        settings = np.array([DAMPING, 0.0, NEVER, NEVER, SETTLED, SLIDING_STEPS])
        positions, progress = free._in_pieces(start, _ENDLESS_PROGRESS, settings, clock)
        end = place.run(positions, clock)
        (_, cost), (_, before) = (self._step(x, 0.0) for x in (end.positions, start))
        steps = int(progress.item(PROGRESS - 1)) + end.steps
        if end.arrived and cost < before:
            return End(end.positions, False, cost, steps)
        return End(start, False, before, steps)

    def turn(self, start: Vector, place: Search, deadline: Deadline) -> End:
        """Descend to the smallest rotation error with the frames at their target positions.

        A Gauss-Newton step in the null space of the positions, within the limits, is followed by a
        search for the positions; together they are accepted if they reduce the rotation error.

        Args:
            start: (n) joint positions that bring the frames to their positions.
            place: search for positions.
            deadline: time to stop.

        Returns:
            The end, whose cost is that of the rotations.
        """
        lower, upper, mobility = self.joints[:3]
        joints = self.joints.copy()
        joints[0], joints[1] = -UNBOUNDED, UNBOUNDED
        free = self._replace(joints=joints, tasks=self.weighted(1.0, ROTATION_AT_POSITION))

        def step(positions: Vector, damping: float) -> tuple[Vector, float]:
            """Next positions, up to the first limit, and the rotation cost of the given ones.

            Joints that a step would move over a near limit go to this limit, and the others move
            without them.
            """
            joints[2], snapped = mobility, np.zeros(len(positions))
            while True:
                following, cost = free._step(positions, damping)
                d = following - positions
                ways = np.where(d > 0.0, upper - positions, lower - positions)
                shares = np.divide(ways, d, out=np.ones(len(d)), where=d != 0.0)
                near = shares < NEAR_LIMIT
                if not near.any():
                    break
                snapped[near], joints[2, near] = ways[near], 0.0
            following = positions + min(1.0, shares.min()) * d + snapped
            return following, cost / ROTATION_AT_POSITION**2

        clock = None if self.compiled else deadline
        return _descent(start, step, lambda x: place.run(x, clock), TURN_RESOLUTION, deadline)

    def settle(self, start: Vector, deadline: Deadline) -> End:
        """Move from a solution (n) within the set of solutions towards the preferred positions."""
        settings = np.array([DAMPING, PULL, NEVER, NEVER, SETTLED, SETTLING_STEPS])
        settled, _ = self._in_pieces(start, _ENDLESS_PROGRESS, settings, deadline)
        return self.run(settled, deadline)


def ends_at(near: float, aligned: float) -> tuple[float, float, Vector]:
    """``ends`` of a search for squared errors."""
    return near, aligned, np.array([DAMPING, 0.0, near, aligned, 0.0, SEARCH_STEPS])


@lru_cache(maxsize=32)
def ends_within(
    position_tolerance: float, rotation_tolerance: float
) -> tuple[float, float, Vector]:
    """``ends`` of a search for errors within tolerances [m, rad]."""
    position, rotation = (TOLERANCE_FRACTION * x for x in (position_tolerance, rotation_tolerance))
    return ends_at(position**2, rotation**2)


def _descent(
    start: Vector,
    step: Callable[[Vector, float], tuple[Vector, float]],
    finish: Callable[[Vector], End],
    resolution: float,
    deadline: Deadline,
) -> End:
    """Descend by damped steps, of which those that reduce the cost are accepted.

    Args:
        start: (n) joint positions.
        step: of positions and a damping: the next positions, and the cost of the given ones.
        finish: completes a step; the step is accepted only if this end has arrived.
        resolution: relative reduction of the cost below which a step counts as idle.
        deadline: time to stop.
    """
    current, damping = start, DAMPING
    following, cost = step(current, damping)
    steps, idle = 0, 0
    while steps < APPROACH_STEPS and idle < APPROACH_IDLE and not deadline.passed():
        end = finish(following)
        steps += 1 + end.steps
        after_next, next_cost = step(end.positions, damping)
        if end.arrived and next_cost < cost:
            idle = idle + 1 if next_cost > (1.0 - resolution) * cost else 0
            current, following, cost = end.positions, after_next, next_cost
            damping *= 0.5
        elif damping < MAX_DAMPING:
            damping *= 4.0
            following, _ = step(current, damping)
        else:
            break
    return End(current, False, cost, steps)


NEVER = -1.0
"""Squared tolerance that is never reached."""


_INITIAL_PROGRESS = np.array([*[0.0] * (PROGRESS - 3), 1e300, 0.0, 0.0])
_ENDLESS_PROGRESS = np.array([*[0.0] * (PROGRESS - 3), 0.0, -1e300, 0.0])
"""Progress at the start of a search: of a usual one, and of one that continues without progress."""
