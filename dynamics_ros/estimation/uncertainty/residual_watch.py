# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether external torques in motion are far above what is stated: friction or masses are unknown.

A contact, too, is an external torque, but rarely for most of a motion: the median of what a joint
feels while it moves is that of free motion. One that lasts longer cannot be told from friction.
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
"""ns between two samples."""

WINDOW, LEAST = 200, 100
"""Samples of each joint in motion that are kept, and that a judgement takes: 20 s and 10 s."""

JUDGED_EVERY = 10
"""Samples."""

FAR, NEAR = 3.0, 2.0
"""Times the stated deviation: above the first it is said to be wrong, below the second right."""

GAUSSIAN = 1.4826
"""Standard deviation over the median of absolute values."""

NAMED = 7
"""Joints, the worst ones."""

NEVER = 2**62
"""ns; after any stamp."""

SAME = 0.2
"""Relative change of a deviation that makes no difference."""


class ResidualWatch:
    """Compares external torques of joints in motion with their stated deviation, slowly.

    Attributes:
        excess: (nv) standard deviation of what is unexplained beyond what is stated, zero where
            that is about right; another array once it has changed [Nm or N].
        advice: for a person; empty where all is as stated.
        next: stamp from which on a sample is of use [ns].
        fresh: samples since the last judgement, which takes ``JUDGED_EVERY``.
    """

    def __init__(self, robot: Robot, *, max_velocity: float = 0.02) -> None:
        """Begin.

        Args:
            robot: the robot. Of one with a moving base nothing is judged: it stands on the ground,
                a contact in all motion.
            max_velocity: a joint faster than this is moving [rad/s or m/s].
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
        """Whether a sample of that stamp [ns] is of use."""
        return self._judges and (stamp >= self.next or stamp < self._last)

    def alike(self, stamps: Stamps) -> int:
        """Of how many consecutive samples only the last may bring another judgement."""
        first = int(stamps[0])
        if not self._judges or len(stamps) == 1:
            return len(stamps)
        if first < self._last:
            return 1
        # As if all of them moved, one every period.
        count, begin = JUDGED_EVERY - self.fresh, max(first, self.next)
        place = int(stamps.searchsorted(begin))
        for _ in range(count - 1):
            if place >= len(stamps):
                break
            place = max(place + 1, int(stamps.searchsorted(stamps[place] + PERIOD)))
        return min(place + 1, len(stamps))

    def add(self, stamp: int, external: Vector, v: Vector) -> None:
        """Take a sample in: stamp [ns], external torque before taring, velocity."""
        if not self.wants(stamp):
            return
        self._last, self.next = stamp, stamp + PERIOD
        moving = np.flatnonzero(np.abs(v) > self._max_velocity)
        if len(moving):
            self._samples[self._counts[moving] % WINDOW, moving] = external[moving]
            self._counts[moving] += 1
            self.fresh += 1

    def judge(self, offset: Vector, stated: Vector) -> bool:
        """Bring ``excess`` and ``advice`` up to date, now and then; whether they have changed.

        Args:
            offset: (nv) of the tare.
            stated: (nv) standard deviation of the external torque without contact; inf for a joint
                that is not used.
        """
        if self.fresh < JUDGED_EVERY:
            return False
        self.fresh = 0
        measured, before = np.zeros(len(stated)), self.excess
        for i in np.flatnonzero(self._counts >= LEAST):
            felt = self._samples[: self._counts[i], i]
            measured[i] = GAUSSIAN * np.median(np.abs(felt - offset[i]))
        far = measured > np.where(before > 0.0, NEAR, FAR) * stated
        excess = np.zeros(len(stated))
        excess[far] = np.sqrt(np.square(measured[far]) - np.square(stated[far]))
        if np.all(np.abs(excess - before) <= SAME * before):
            return False
        self.excess = excess
        told = [
            f'{self._names.get(int(i), "a joint")} {measured[i]:.2g} instead of {stated[i]:.2g}'
            for i in sorted(np.flatnonzero(far), key=lambda i: stated[i] / measured[i])
        ]
        if len(told) > NAMED:
            told[NAMED:] = [f'{len(told) - NAMED} more joints']
        self.advice = ''
        if told:
            self.advice = (
                'external torques in motion deviate by far more than is stated '
                f'(in Nm or N: {", ".join(told)}): friction or masses are not as described, or '
                'a contact lasts; tare, or set friction, payload or effort.model_error'
            )
        return True
