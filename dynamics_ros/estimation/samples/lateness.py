# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of moving joints whose reports are overdue and would cause wrong external torques."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .robot_state import RobotState

PATIENCE = 0.95
"""Number of usual intervals after which the report of a moving joint is overdue. With alternating
publishers the reports are newer than that, and a single outdated momentum appears as a large
external torque."""

AT_REST = 0.02
"""Speed below which a joint counts as standing still at its last report [rad/s or m/s]."""


class Lateness:
    """Learns the report interval of each joint and detects overdue joints that were moving."""

    def __init__(self, size: int, places: Mapping[str, int]) -> None:
        """Creates a detector for ``size`` velocities; ``places`` has the index of each joint."""
        self._places = dict(places)
        self._heard = np.zeros(size, dtype=np.int64)
        self._usual = np.zeros(size)
        self._last = 0
        self._all_heard = False
        # Interval of complete messages [ns]; 0 while messages are partial.
        self._whole = 0

    def unusable(self, state: RobotState) -> str:
        """Returns why a state does not allow an estimate; empty if it does."""
        if state.effort_missing:
            return f'no effort of {", ".join(state.effort_missing)}'
        if not state.time:
            return 'joint_states carry no stamp, which the observer needs'
        late = self.late(state, state.time)
        if late is None:
            return ''
        names = [name for name, i in self._places.items() if late[i]]
        return f'no news of joints that were moving: {", ".join(names) or "the base"}'

    def late(self, state: RobotState, stamp: int) -> NDArray[np.bool_] | None:
        """Returns the mask (nv) of overdue joints; None if there are none, which is the fast path.

        Args:
            state: the state.
            stamp: its stamp [ns].
        """
        if state.ages is None:
            if stamp > self._last:
                self._whole = stamp - self._last
            self._last, self._all_heard = stamp, False
            return None
        before, self._last = self._last, stamp
        if self._all_heard and stamp > before and not state.ages.any():
            # Normal case with synchronized publishers: all joints have new values.
            self._usual += stamp - self._heard
            self._usual *= 0.5
            self._heard[:] = stamp
            return None
        if self._whole:
            # First partial message: start from the interval of the complete messages.
            self._heard[:] = 0
            self._usual.fill(self._whole)
            self._whole = 0
        heard = stamp - state.ages
        since = heard - self._heard
        news = (since > 0) & (self._heard > 0)
        # Averaging with weight 1/2 bounds the effect of a lost message on the usual interval.
        self._usual = np.where(news, 0.5 * (self._usual + since), self._usual)
        self._heard, self._all_heard = heard, bool((heard > 0).all())
        late = (state.ages > PATIENCE * self._usual) & (self._usual > 0.0)
        late &= np.abs(state.v) > AT_REST
        return late if late.any() else None
