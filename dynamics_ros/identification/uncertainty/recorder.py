# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recorder of joint states for an identification, with bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.identification import JointSamples
from dynamics_ros.identification.findings import STILL
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MAX_BYTES = 64_000_000
"""Memory of all samples: six minutes of seven joints at 1 kHz [bytes]."""

MIN_SPEED = 0.02
"""Least speed in a direction from which its dry friction can be identified [rad/s]."""


class Recorder:
    """Stores samples; when its memory is full, every second one, then every fourth one, and so on.

    Attributes:
        count: number of received samples, including those dropped later.
        duration: time from the first to the last stamp [s].
    """

    def __init__(self, robot: Robot, source: str, most: int | None = None) -> None:
        """Create a recorder without samples.

        Args:
            robot: robot with a fixed base and joints of one coordinate.
            source: name of the recording in messages.
            most: largest number of stored samples; None: as many as ``MAX_BYTES`` allow.
        """
        self._names, self._source = robot.joint_names, source
        width = 1 + 3 * robot.nv
        # Memory is taken from the machine where rows are written.
        self._rows = np.empty((most or MAX_BYTES // (8 * width), width))
        self._kept, self._every, self.count = 0, 1, 0
        self._motion = motion_scales(robot)
        self._first = self._last = 0
        self._low, self._high = np.full((2, robot.nv), np.inf), np.full((2, robot.nv), -np.inf)

    def add(self, stamp: int, q: Array, v: Array, effort: Array) -> bool:
        """Add a sample if its stamp is later than the previous one, and return whether it is.

        Args:
            stamp: stamp [ns].
            q, v, effort: (nv) values in the joint order of the robot.
        """
        if self.count and stamp <= self._last:
            return False
        if not self.count:
            self._first = stamp
        self._last = stamp
        self._low = np.minimum(self._low, (q, v))
        self._high = np.maximum(self._high, (q, v))
        if self.count % self._every == 0 and self._kept == len(self._rows):
            kept = self._rows[::2].copy()
            self._rows[: len(kept)] = kept
            self._kept, self._every = len(kept), 2 * self._every
        if self.count % self._every == 0:
            self._rows[self._kept] = np.concatenate([[1e-9 * (stamp - self._first)], q, v, effort])
            self._kept += 1
        self.count += 1
        return True

    @property
    def duration(self) -> float:
        """Time from the first to the last stamp [s]."""
        return 1e-9 * (self._last - self._first)

    @property
    def samples(self) -> JointSamples:
        """A copy of the stored samples."""
        rows, n = self._rows[: self._kept].copy(), len(self._names)
        q, v, effort = (rows[:, 1 + k * n : 1 + (k + 1) * n] for k in range(3))
        return JointSamples(self._source, self._names, rows[:, 0], q, v, effort)

    @property
    def missing(self) -> tuple[str, ...]:
        """Motion that is still missing, one sentence for each joint."""
        if not self.count:
            return ('no joint states yet',)
        found = []
        # In radians, and for sliding joints in what corresponds to them.
        low_high = (self._low / self._motion).T, (self._high / self._motion).T
        for name, low, high in zip(self._names, *low_high, strict=True):
            if high[0] - low[0] < STILL:
                found.append(f'{name} has not moved')
            elif min(-low[1], high[1]) < MIN_SPEED:
                found.append(f'{name} has moved in one direction only')
        return tuple(found)
