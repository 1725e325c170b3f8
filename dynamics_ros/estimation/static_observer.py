# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques by gravity alone, and when they stand in for others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .observers import TorqueObserver
from .samples.robot_state import RobotState

Array = NDArray[np.float64]


class StaticObserver(TorqueObserver):
    """Gravity alone: for robots without velocities; in motion, inertia is felt as contact."""

    kind = 'static'


class StaticFallback:
    """Which observer takes a state: the usual one, or gravity alone without velocities.

    Attributes:
        caution: what to know about the last state; empty when all is well.
    """

    def __init__(self, make: Callable[[], TorqueObserver]) -> None:
        """With a function that makes a static observer, once one is needed."""
        self._make, self.caution = make, ''
        self.reset()

    def reset(self) -> None:
        """Forget the last state; the next one without velocities begins anew."""
        self._static: TorqueObserver | None = None
        self._before: RobotState | None = None

    def take(self, observer: TorqueObserver, state: RobotState) -> tuple[TorqueObserver, Array]:
        """Which observer is to take a state, and the velocities: reported, or of positions."""
        self.caution = ''
        if not state.velocity_missing:
            if self._before is not None:
                self.reset()
            return observer, state.v
        before, self._before = self._before, state
        v = state.v
        if before is not None and state.time > before.time:
            v = observer.robot.difference(before.q, state.q) / ((state.time - before.time) * 1e-9)
        if isinstance(observer, StaticObserver):
            return observer, v
        if self._static is None:
            self._static = self._make()
        self.caution = (
            f'by gravity alone, in motion not to be believed: no velocity of '
            f'{", ".join(state.velocity_missing)}'
        )
        return self._static, v
