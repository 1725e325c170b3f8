"""One local search: compiled steps until the frames arrive or progress ends."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithms.inverse_kinematics_step import FIGURES

if TYPE_CHECKING:
    from ..kernels import Kernel

Vector = NDArray[np.float64]

DAMPING = 0.03
"""Ratio of the damping to the squared error [Sugihara2011]."""

CLOCK_STEPS = 4
"""How often a search looks at the clock: as plain Python a step takes a tenth of a millisecond."""

SEARCH_STEPS = 40
"""A search that gets there needs some ten steps; a new start is worth more than a slow approach."""

PROGRESS = 0.8
"""What is left of the squared error after a step that counts as progress."""

IDLE_STEPS = 2
"""So many steps in a row may pass without progress; one more ends a search."""

APPROACH_STEPS = 200
"""Of a descent to a closest approach; its rate is linear where the target is out of reach."""

APPROACH_RESOLUTION = 1e-13
"""Relative gain of a step that ends a descent."""

ROTATION_OF_APPROACH = 0.1
"""Weight of the rotation in a descent. Where the place cannot be reached, a step that trades one
for the other would give away much distance for a little angle."""

LARGEST_DAMPING = 1e9
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
    """When to stop.

    Attributes:
        wall: on the clock of ``time.perf_counter`` [s].
        processor: on that of ``time.thread_time`` [s], also to be passed.
    """

    wall: float
    processor: float

    def passed(self) -> bool:
        """Whether it is time to stop."""
        return time.perf_counter() > self.wall and time.thread_time() > self.processor


class End(NamedTuple):
    """Where a search ended: joint positions (n), whether at the target, squared error, steps."""

    positions: Vector
    arrived: bool
    cost: float
    steps: int


class Search(NamedTuple):
    """A problem in the form that the compiled step takes.

    What is minimised is the squared length of the error, the position over the chain's length.

    Attributes:
        kernel: ``algorithms.inverse_kinematics_step``, of m frames and n joints.
        targets: (m, 4, 4) wanted poses in the root link.
        joints: (5, n) limits, mobility, allowance and liked positions.
        tasks: (m, 2, 6) weights and slack.
        position_tolerance: m.
        rotation_tolerance: rad.
    """

    kernel: Kernel
    targets: Vector
    joints: Vector
    tasks: Vector
    position_tolerance: float
    rotation_tolerance: float

    def run(self, start: Vector, deadline: Deadline) -> End:
        """Search from joint positions until arrived, too slow, or out of time.

        Args:
            start: (n) joint positions within the limits.
            deadline: when to stop.
        """
        step, clock, wall = self.kernel.call, time.perf_counter, deadline.wall
        targets, joints, tasks = self.targets, self.joints, self.tasks
        near = (INSIDE * self.position_tolerance) ** 2
        aligned = (INSIDE * self.rotation_tolerance) ** 2
        n = len(start)
        here, there = np.empty(n + FIGURES), np.empty(n + FIGURES)
        here[:n] = start
        here[n:] = 0.0
        least, idle, steps = math.inf, 0, 0
        while True:
            step(here, targets, joints, tasks, _SEARCHING, out=there)
            cost = there.item(n + 2)
            if there.item(n) <= near and there.item(n + 1) <= aligned:
                return End(here[:n], True, cost, steps)
            if cost < PROGRESS * least:
                least, idle = cost, 0
            else:
                idle += 1
            late = steps % CLOCK_STEPS == 0 and clock() > wall and deadline.passed()
            if idle > IDLE_STEPS or steps >= SEARCH_STEPS or late:
                return End(here[:n], False, cost, steps)
            here, there = there, here
            steps += 1

    def approach(self, start: Vector, deadline: Deadline) -> End:
        """Descend to the closest approach, however slow: each step must gain.

        Here the place comes before the orientation: the distance found is, but for a small part,
        the least there is.

        Args:
            start: (n) joint positions within the limits.
            deadline: when to stop.
        """
        step = self.kernel.call
        tasks = self.tasks.copy()
        tasks[:, 0, 3:] *= ROTATION_OF_APPROACH
        problem = (self.targets, self.joints, tasks)
        settings = _SEARCHING.copy()
        n = len(start)
        here, there, beyond = np.zeros((3, n + FIGURES))
        here[:n] = start
        step(here, *problem, settings, out=there)
        cost = there.item(n + 2)
        steps, idle = 0, 0
        while steps < APPROACH_STEPS and idle < IDLE_STEPS and not deadline.passed():
            steps += 1
            step(there, *problem, settings, out=beyond)
            reached = beyond.item(n + 2)
            if reached < cost:
                idle = idle + 1 if reached > (1.0 - APPROACH_RESOLUTION) * cost else 0
                here, there, beyond = there, beyond, here
                cost = reached
                settings[0] *= 0.5
            elif settings[0] < LARGEST_DAMPING:
                settings[0] *= 4.0
                step(here, *problem, settings, out=there)
            else:
                break
        return End(here[:n], False, cost, steps)

    def settle(self, start: Vector, deadline: Deadline) -> End:
        """Move on along the solutions to the one nearest the liked positions.

        Args:
            start: (n) a solution.
            deadline: when to stop.
        """
        n = len(start)
        here, there = np.zeros((2, n + FIGURES))
        here[:n] = start
        for _ in range(SETTLING_STEPS):
            self.kernel.call(here, self.targets, self.joints, self.tasks, _SETTLING, out=there)
            here, there = there, here
            if here.item(n + 3) < SETTLED or deadline.passed():
                break
        return self.run(here[:n].copy(), deadline)


_SEARCHING = np.array([DAMPING, 0.0])
_SETTLING = np.array([DAMPING, PULL])
