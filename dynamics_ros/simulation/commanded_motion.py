# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference motion of the joint controllers for commanded velocities and positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
        self._start_time = self._end = 0.0
        self._trajectory: tuple[Array, Array, Array] | None = None

    def at(self, t: float) -> tuple[Array, Array]:
        """Reference positions and velocities (n each) at the time t [s]."""
        elapsed = min(max(t, self._start_time), self._end) - self._start_time
        if self._trajectory is not None:
            q, v = _cubic(*self._trajectory, elapsed)
            return np.clip(q, self._lower, self._upper), v if t < self._end else np.zeros(len(q))
        q = np.clip(self._q + elapsed * self._v, self._lower, self._upper)
        return q, self._v if t < self._end else np.zeros(len(q))

    def move(self, v: Array, t: float, duration: float) -> None:
        """Follow velocities v (n) from the time t [s] for a duration [s]."""
        self._start(t, duration)
        self._v = v.copy()

    def reach(self, q: Array, t: float, duration: float) -> None:
        """Move from the time t [s] to positions q (n) within a duration [s], and hold them."""
        self._start(t, duration)
        self._v = (q - self._q) / duration

    def follow(self, time: Array, q: Array, v: Array, t: float) -> None:
        """Follow a trajectory from the time t [s] on, and hold its last positions.

        Args:
            time: (points) times relative to t [s].
            q, v: (points, n) positions and velocities.
            t: start of the trajectory [s].
        """
        self._start(t, float(time[-1]))
        if time[0] > 0.0:
            # The trajectory starts at the current reference positions, at rest.
            time = np.concatenate([[0.0], time])
            q, v = np.vstack([self._q, q]), np.vstack([np.zeros(len(self._q)), v])
        self._trajectory = (time, q, v) if len(time) > 1 else None
        if self._trajectory is None:
            self._q, self._v = q[-1], np.zeros(len(q[-1]))

    def _start(self, t: float, duration: float) -> None:
        self._q, _ = self.at(t)
        self._trajectory = None
        self._start_time, self._end = t, t + duration


def _cubic(time: Array, q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Return positions and velocities of the cubic Hermite spline through (points, n) q and v."""
    k = min(int(np.searchsorted(time[1:], t)), len(time) - 2)
    step = time[k + 1] - time[k]
    slope = (q[k + 1] - q[k]) / step
    # q(s) = q_k + v_k s + b s^2 + c s^3, with s from the beginning of the segment
    s = t - time[k]
    b = (3.0 * slope - 2.0 * v[k] - v[k + 1]) / step
    c = (v[k] + v[k + 1] - 2.0 * slope) / step**2
    return q[k] + s * (v[k] + s * (b + s * c)), v[k] + s * (2.0 * b + 3.0 * s * c)
