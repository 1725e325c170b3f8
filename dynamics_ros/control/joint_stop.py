# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The end of a commanded motion: a ramp to rest from what was commanded last."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.multibody.arguments import check_positive

Array = NDArray[np.float64]

MAX_DURATION = 0.8
"""Seconds after which every joint is at rest: where accelerations are too small for that, the ramp
is steeper than they are."""

HOLD = 0.1
"""Seconds for which rest is commanded again, for whoever missed a command."""


@dataclass(frozen=True, eq=False)
class JointCommand:
    """A command to some joints: positions and velocities.

    Attributes:
        joints: names of the n joints, in the order of their controller.
        q: (n) where they shall be at the end of the step [rad or m].
        v: (n) how fast they shall go during the step [rad/s or m/s].
    """

    joints: tuple[str, ...]
    q: Array
    v: Array


class JointStop:
    """Brings joints to rest that were commanded to move, whatever the robot is meanwhile.

    Each joint slows down by itself, as quickly as it may: so none passes a limit that it could
    brake before. A joint at rest stays.

    Attributes:
        last: the last command, of a motion or of the ramp; None once rest has been commanded for
            ``HOLD``, and before anything has been.
    """

    def __init__(self) -> None:
        self.last: JointCommand | None = None
        self._acceleration = 0.0
        self._slowing = False
        self._held = 0.0

    def moved(self, command: JointCommand, acceleration: float) -> None:
        """Take note of a command of a motion.

        Args:
            command: the command.
            acceleration: of the ramp that ends it [rad/s^2 or m/s^2].
        """
        check_positive('acceleration', acceleration)
        self.last, self._acceleration = command, acceleration
        self._slowing, self._held = False, 0.0

    def step(self, dt: float) -> JointCommand | None:
        """The next command of the ramp; None when nothing is to be sent any more.

        Args:
            dt: s until the command after it.
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
