# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stop of a commanded joint motion by a velocity ramp from the last command."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.multibody.arguments import check_positive

Array = NDArray[np.float64]

MAX_DURATION = 0.8
"""Longest duration of the ramp [s]; it exceeds the given acceleration if that is too small."""

HOLD = 0.1
"""Time for which the final rest command is repeated, in case one is lost [s]."""


@dataclass(frozen=True, eq=False)
class JointCommand:
    """Position and velocity command of some joints.

    Attributes:
        joints: names of the n joints, in the order of their controller.
        q: (n) positions at the end of the step [rad or m].
        v: (n) velocities during the step [rad/s or m/s].
    """

    joints: tuple[str, ...]
    q: Array
    v: Array


class JointStop:
    """Brings commanded joints to rest, without feedback from the robot.

    Each joint decelerates on its own as fast as allowed, so it stays within a limit that it could
    brake before. A joint at rest stays.

    Attributes:
        last: the last command, of a motion or of the ramp; None before the first one and once rest
            has been commanded for ``HOLD``.
    """

    def __init__(self) -> None:
        self.last: JointCommand | None = None
        self._acceleration = 0.0
        self._slowing = False
        self._held = 0.0

    def moved(self, command: JointCommand, acceleration: float) -> None:
        """Record a command of a motion.

        Args:
            command: the command.
            acceleration: deceleration of a ramp from it [rad/s^2 or m/s^2].
        """
        check_positive('acceleration', acceleration)
        self.last, self._acceleration = command, acceleration
        self._slowing, self._held = False, 0.0

    def step(self, dt: float) -> JointCommand | None:
        """Return the next command of the ramp; None when the stop is complete.

        Args:
            dt: time until the following command [s].
        """
        check_positive('dt', dt)
        last = self.last
        if last is None:
            return None
        if not self._slowing:
            self._slowing = True
            fastest = float(np.abs(last.v).max(initial=0.0))
            self._acceleration = max(self._acceleration, fastest / MAX_DURATION)
        if not last.v.any():
            self._held += dt
            if self._held > HOLD + 0.5 * dt:
                self.last = None
                return None
        slower = np.maximum(np.abs(last.v) - self._acceleration * dt, 0.0)
        v = np.copysign(slower, last.v) + 0.0  # no -0.0
        self.last = JointCommand(last.joints, last.q + dt * v, v)
        return self.last
