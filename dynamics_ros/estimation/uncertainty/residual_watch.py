# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check whether external torques in motion exceed their stated deviation.

Larger ones indicate wrong friction or masses. A contact also causes external torques but rarely
lasts for most of a motion, so the median over the motion is that of free motion. A contact that
lasts longer cannot be distinguished from friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

PERIOD = 100_000_000
"""Time between two samples [ns]."""

WINDOW, MIN_SAMPLES = 200, 100
"""Stored samples of each joint in motion, and the number needed for a check: 20 s and 10 s."""

CHECK_EVERY = 10
"""Samples between two checks."""

WRONG, RIGHT = 3.0, 2.0
"""Multiples of the stated deviation: above the first a deviation counts as wrong, below the second
as right again."""

GAUSSIAN_RATIO = 1.4826
"""Ratio of the standard deviation to the median of the absolute values of Gaussian noise."""

MAX_NAMED = 7
"""Maximum number of joints named in the advice, the worst first."""

NEVER = 2**62
"""Stamp after all others [ns]."""

IGNORED_CHANGE = 0.2
"""Relative change of a deviation that is ignored."""


class ResidualWatch:
    """Compares external torques of moving joints with their stated deviation over some time.

    Attributes:
        excess: (nv) standard deviation in addition to the stated one, zero where that is about
            right; replaced by another array if it changes [Nm or N].
        advice: advice to the user; empty if deviations are as stated.
        next: stamp from which on a sample is used [ns].
        fresh: samples since the last check; a check needs ``CHECK_EVERY``.
    """

    def __init__(self, robot: Robot, *, max_velocity: float = 0.02) -> None:
        """Creates a watch without samples.

        Args:
            robot: the robot. With a moving base nothing is checked, because ground contact lasts
                through all motion.
            max_velocity: speed above which a joint counts as moving [rad/s or m/s].
        """
        self.excess = np.zeros(robot.nv)
        self.advice = ''
        self._names = {i: name for name, i in robot.joint_v_indices.items()}
        self._judges = not robot.model.root_joint_nv
        self._max_velocity = max_velocity
        self._samples = np.zeros((WINDOW, robot.nv))
        self._counts = np.zeros(robot.nv, dtype=int)
        self._last = self.fresh = 0
        self.next = 0 if self._judges else NEVER

    def wants(self, stamp: int) -> bool:
        """Whether a sample with this stamp [ns] is used."""
        return self._judges and (stamp >= self.next or stamp < self._last)

    def batch_size(self, stamps: Stamps) -> int:
        """Returns how many samples can be added before a check is due, at least one."""
        first = int(stamps[0])
        if not self._judges or len(stamps) == 1:
            return len(stamps)
        if first < self._last:
            return 1
        # Worst case: joints move at every sample, and one sample per period is used.
        count, begin = CHECK_EVERY - self.fresh, max(first, self.next)
        place = int(stamps.searchsorted(begin))
        for _ in range(count - 1):
            if place >= len(stamps):
                break
            place = max(place + 1, int(stamps.searchsorted(stamps[place] + PERIOD)))
        return min(place + 1, len(stamps))

    def add(self, stamp: int, external: Vector, v: Vector) -> None:
        """Adds a sample: stamp [ns], external torque (nv) before taring, velocity (nv)."""
        if not self.wants(stamp):
            return
        self._last, self.next = stamp, stamp + PERIOD
        moving = np.flatnonzero(np.abs(v) > self._max_velocity)
        if len(moving):
            self._samples[self._counts[moving] % WINDOW, moving] = external[moving]
            self._counts[moving] += 1
            self.fresh += 1

    def judge(self, offset: Vector, stated: Vector) -> bool:
        """Updates ``excess`` and ``advice`` if a check is due; returns whether they have changed.

        Args:
            offset: (nv) tare offset.
            stated: (nv) standard deviation of the external torque without contact; inf for an
                unused joint.
        """
        if self.fresh < CHECK_EVERY:
            return False
        self.fresh = 0
        measured, before = np.zeros(len(stated)), self.excess
        for i in np.flatnonzero(self._counts >= MIN_SAMPLES):
            residuals = self._samples[: self._counts[i], i]
            measured[i] = GAUSSIAN_RATIO * np.median(np.abs(residuals - offset[i]))
        wrong = measured > np.where(before > 0.0, RIGHT, WRONG) * stated
        excess = np.zeros(len(stated))
        excess[wrong] = np.sqrt(np.square(measured[wrong]) - np.square(stated[wrong]))
        if np.all(np.abs(excess - before) <= IGNORED_CHANGE * before):
            return False
        self.excess = excess
        lines = [
            f'{self._names.get(int(i), "a joint")} {measured[i]:.2g} instead of {stated[i]:.2g}'
            for i in sorted(np.flatnonzero(wrong), key=lambda i: stated[i] / measured[i])
        ]
        if len(lines) > MAX_NAMED:
            lines[MAX_NAMED:] = [f'{len(lines) - MAX_NAMED} more joints']
        self.advice = ''
        if lines:
            self.advice = (
                'external torques in motion deviate by far more than is stated '
                f'(in Nm or N: {", ".join(lines)}): friction or masses are not as described, or '
                'a contact lasts; tare, or set friction, payload or effort.model_error'
            )
        return True
