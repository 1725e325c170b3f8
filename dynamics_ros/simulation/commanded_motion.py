# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the joint controllers follow when somebody commands velocities or positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Loaded with this file: a robot that first did so at its first trajectory would stop telling its
# joint states for half a second.
from scipy.interpolate import CubicHermiteSpline

Array = NDArray[np.float64]


class CommandedMotion:
    """A motion as ``SmoothMotion`` is, made up of commands as they come.

    Each command holds until the next one or its end; then the joints stay where they are. Times
    are simulated [s].
    """

    def __init__(self, q: Array, lower: Array, upper: Array) -> None:
        """Begin at rest.

        Args:
            q: (n) where.
            lower, upper: (n) limits of the positions; what is commanded ends there.
        """
        self._q, self._v = q.copy(), np.zeros(len(q))
        self._lower, self._upper = lower, upper
        self._began = self._end = 0.0
        self._spline: CubicHermiteSpline | None = None

    def at(self, t: float) -> tuple[Array, Array]:
        """Position and velocity (n each)."""
        gone = min(max(t, self._began), self._end) - self._began
        if self._spline is not None:
            q, v = self._spline(gone), self._spline(gone, 1)
            return np.clip(q, self._lower, self._upper), v if t < self._end else np.zeros(len(q))
        q = np.clip(self._q + gone * self._v, self._lower, self._upper)
        return q, self._v if t < self._end else np.zeros(len(q))

    def move(self, v: Array, t: float, duration: float) -> None:
        """Velocities (n) from now on, for a while."""
        self._begin(t, duration)
        self._v = v.copy()

    def reach(self, q: Array, t: float, duration: float) -> None:
        """Positions (n) to be reached after a while, and kept."""
        self._begin(t, duration)
        self._v = (q - self._q) / duration

    def follow(self, time: Array, q: Array, v: Array, t: float) -> None:
        """Positions and velocities (points, n) at times (points) from now on; the last is kept."""
        self._begin(t, float(time[-1]))
        if time[0] > 0.0:
            # From where it is, at rest.
            time = np.concatenate([[0.0], time])
            q, v = np.vstack([self._q, q]), np.vstack([np.zeros(len(self._q)), v])
        self._spline = CubicHermiteSpline(time, q, v) if len(time) > 1 else None
        if self._spline is None:
            self._q, self._v = q[-1], np.zeros(len(q[-1]))

    def _begin(self, t: float, duration: float) -> None:
        self._q, _ = self.at(t)
        self._spline = None
        self._began, self._end = t, t + duration
