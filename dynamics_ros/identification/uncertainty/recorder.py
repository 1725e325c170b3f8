# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states of a moving robot, kept as they come in bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.findings import STILL
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MOST_BYTES = 64_000_000
"""Of all samples: six minutes of seven joints at 1 kHz."""

FIRST_ROWS = 1024

SLOWEST = 0.02
"""rad/s or m/s that a joint has to reach in a direction for its dry friction to be told there."""


class Recorder:
    """Keeps every sample, and once its memory is full every second one, every fourth and so on.

    Attributes:
        count: samples taken so far, those that were dropped later included.
        duration: from the first stamp to the last [s].
    """

    def __init__(self, robot: Robot, source: str, most: int | None = None) -> None:
        """Begin without samples.

        Args:
            robot: fixed base, joints of one coordinate.
            source: name of the recording, for messages.
            most: samples that are kept; by ``MOST_BYTES`` when None.
        """
        self._names, self._source = robot.joint_names, source
        width = 1 + 3 * robot.nv
        self._most = most or MOST_BYTES // (8 * width)
        self._rows = np.empty((min(FIRST_ROWS, self._most), width))
        self._kept, self._every, self.count = 0, 1, 0
        self._first = self._last = 0
        self._low, self._high = np.full((2, robot.nv), np.inf), np.full((2, robot.nv), -np.inf)

    def add(self, stamp: int, q: Array, v: Array, effort: Array) -> bool:
        """Take a sample; False for one whose stamp [ns] is not later than that of the one before.

        Args:
            stamp: ns.
            q, v, effort: (nv) in the order of the robot's joints.
        """
        if self.count and stamp <= self._last:
            return False
        if not self.count:
            self._first = stamp
        self._last = stamp
        self._low = np.minimum(self._low, (q, v))
        self._high = np.maximum(self._high, (q, v))
        if self.count % self._every == 0:
            self._make_room()
        # What was kept may have been thinned out by now.
        if self.count % self._every == 0:
            self._rows[self._kept] = np.concatenate([[1e-9 * (stamp - self._first)], q, v, effort])
            self._kept += 1
        self.count += 1
        return True

    @property
    def duration(self) -> float:
        """From the first stamp to the last [s]."""
        return 1e-9 * (self._last - self._first)

    @property
    def samples(self) -> JointSamples:
        """A copy of what is kept."""
        rows, n = self._rows[: self._kept].copy(), len(self._names)
        q, v, effort = (rows[:, 1 + k * n : 1 + (k + 1) * n] for k in range(3))
        return JointSamples(self._source, self._names, rows[:, 0], q, v, effort)

    @property
    def missing(self) -> tuple[str, ...]:
        """What has not been seen yet of each joint, one sentence each."""
        if not self.count:
            return ('no joint states yet',)
        found = []
        for name, low, high in zip(self._names, self._low.T, self._high.T, strict=True):
            if high[0] - low[0] < STILL:
                found.append(f'{name} has not moved')
            elif min(-low[1], high[1]) < SLOWEST:
                found.append(f'{name} has moved in one direction only')
        return tuple(found)

    def _make_room(self) -> None:
        if self._kept < len(self._rows):
            return
        if len(self._rows) < self._most:
            more = min(2 * len(self._rows), self._most) - len(self._rows)
            self._rows = np.concatenate([self._rows, np.empty((more, self._rows.shape[1]))])
            return
        kept = self._rows[: self._kept : 2].copy()
        self._rows[: len(kept)] = kept
        self._kept, self._every = len(kept), 2 * self._every
