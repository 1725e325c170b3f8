# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observer of external torques without inertial effects, used while velocities are missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.reasons import Explanation, Reason

from .observers import (
    MomentumObserver,
    ThirdOrderMomentumObserver,
    TorqueObserver,
)
from .samples.robot_state import RobotState

Array = NDArray[np.float64]


class StaticObserver(TorqueObserver):
    """Observer that models gravity only, for robots without velocities.

    In motion, inertial torques appear as external torques.
    """

    kind = 'static'


class StaticFallback:
    """Selects the observer for each state: the configured one, or gravity alone without velocities.

    Attributes:
        warning: warning about the last state; empty if there is none.
    """

    def __init__(self, make: Callable[[], TorqueObserver]) -> None:
        """Stores a function that creates a static observer when one is needed."""
        self._make, self.warning = make, ''
        self.reset()

    def reset(self) -> None:
        """Clears the last state; the next one without velocities starts a new static observer."""
        self._static: TorqueObserver | None = None
        self._before: RobotState | None = None

    def take(self, observer: TorqueObserver, state: RobotState) -> tuple[TorqueObserver, Array]:
        """Returns the observer for a state, and its velocities, reported or differentiated."""
        self.warning = ''
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
        self.warning = Explanation(
            Reason.VELOCITY_MISSING,
            'by gravity alone, not valid in motion: no velocity of '
            f'{", ".join(state.velocity_missing)}',
        )
        return self._static, v


OBSERVERS: dict[str, type[TorqueObserver]] = {
    observer.kind: observer
    for observer in (*(MomentumObserver, ThirdOrderMomentumObserver, StaticObserver),)
}
"""Observer classes by kind."""
