# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference motion of the joint controllers for commanded velocities and positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Imported with this file, because an import at the first trajectory would stop the joint states for
# half a second.
from scipy.interpolate import CubicHermiteSpline

Array = NDArray[np.float64]


class CommandedMotion:
    """A reference motion, with the interface of ``SmoothMotion``, that follows commands.

    Each command is active until the next command or until its end; then the joints hold their
    positions. Times are simulated times [s].
    """

    def __init__(self, q: Array, lower: Array, upper: Array) -> None:
        """Start at rest.

        Args:
            q: (n) initial positions.
            lower, upper: (n) position limits, to which commanded positions are clipped.
        """
        self._q, self._v = q.copy(), np.zeros(len(q))
        self._lower, self._upper = lower, upper
        self._began = self._end = 0.0
        self._spline: CubicHermiteSpline | None = None

    def at(self, t: float) -> tuple[Array, Array]:
        """Reference positions and velocities (n each) at the time t [s]."""
        gone = min(max(t, self._began), self._end) - self._began
        if self._spline is not None:
            q, v = self._spline(gone), self._spline(gone, 1)
            return np.clip(q, self._lower, self._upper), v if t < self._end else np.zeros(len(q))
        q = np.clip(self._q + gone * self._v, self._lower, self._upper)
        return q, self._v if t < self._end else np.zeros(len(q))

    def move(self, v: Array, t: float, duration: float) -> None:
        """Follow velocities v (n) from the time t [s] for a duration [s]."""
        self._begin(t, duration)
        self._v = v.copy()

    def reach(self, q: Array, t: float, duration: float) -> None:
        """Move from the time t [s] to positions q (n) within a duration [s], and hold them."""
        self._begin(t, duration)
        self._v = (q - self._q) / duration

    def follow(self, time: Array, q: Array, v: Array, t: float) -> None:
        """Follow a trajectory from the time t [s] on, and hold its last positions.

        Args:
            time: (points) times relative to t [s].
            q, v: (points, n) positions and velocities.
            t: start of the trajectory [s].
        """
        self._begin(t, float(time[-1]))
        if time[0] > 0.0:
            # The trajectory starts at the current reference positions, at rest.
            time = np.concatenate([[0.0], time])
            q, v = np.vstack([self._q, q]), np.vstack([np.zeros(len(self._q)), v])
        self._spline = CubicHermiteSpline(time, q, v) if len(time) > 1 else None
        if self._spline is None:
            self._q, self._v = q[-1], np.zeros(len(q[-1]))

    def _begin(self, t: float, duration: float) -> None:
        self._q, _ = self.at(t)
        self._spline = None
        self._began, self._end = t, t + duration
