# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of moving joints whose reports are overdue and would cause wrong external torques."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.reasons import Explanation, Names, Reason

from .robot_state import RobotState, describe_not_finite

OVERDUE_AFTER = 0.95
"""Number of usual intervals after which the report of a moving joint is overdue. With alternating
publishers the reports are newer than that, and a single outdated momentum appears as a large
external torque."""


class OverdueJoints:
    """Learns the report interval of each joint and detects overdue joints that were moving."""

    def __init__(self, at_rest: NDArray[np.float64], places: Mapping[str, int]) -> None:
        """Creates a detector.

        Args:
            at_rest: (nv) speed up to which a joint counts as standing at its last report.
            places: index of the velocity of each joint.
        """
        self._places, self._at_rest, size = dict(places), at_rest, len(at_rest)
        self._last_report = np.zeros(size, dtype=np.int64)
        self._usual_interval = np.zeros(size)
        self._last = 0
        self._all_reported = False
        # Interval of complete messages [ns]; 0 while messages are partial.
        self._complete_interval = 0

    def problem(self, state: RobotState) -> str:
        """Returns why a state does not allow an estimate; empty if it does."""
        if state.effort_missing:
            return Explanation(
                Reason.EFFORT_MISSING, f'no effort of {", ".join(state.effort_missing)}'
            )
        if not state.time:
            text = 'joint_states carry no stamp, which the observer needs'
            return Explanation(Reason.STAMP_MISSING, text)
        overdue = self.overdue(state, state.time)
        if overdue is None:
            return ''
        names = [name for name, i in self._places.items() if overdue[i]]
        if any(name in state.not_finite for name in names):
            return describe_not_finite(state.not_finite)
        listed = Names(tuple(names), ', '.join(names) or 'the base')
        return Explanation(Reason.JOINTS_STALE, 'no news of joints that were moving: ', listed)

    def overdue(self, state: RobotState, stamp: int) -> NDArray[np.bool_] | None:
        """Returns the mask (nv) of overdue joints; None if there are none, which is the fast path.

        Args:
            state: the state.
            stamp: its stamp [ns].
        """
        if state.ages is None:
            if stamp > self._last:
                self._complete_interval = stamp - self._last
            self._last, self._all_reported = stamp, False
            return None
        before, self._last = self._last, stamp
        if self._all_reported and stamp > before and not state.ages.any():
            # Normal case with synchronized publishers: all joints have new values.
            self._usual_interval += stamp - self._last_report
            self._usual_interval *= 0.5
            self._last_report[:] = stamp
            return None
        if self._complete_interval:
            # First partial message: start from the interval of the complete messages.
            self._last_report[:] = 0
            self._usual_interval.fill(self._complete_interval)
            self._complete_interval = 0
        reported = stamp - state.ages
        since = reported - self._last_report
        # Averaging with weight 1/2 bounds the effect of a lost message on the usual interval.
        mean = 0.5 * (self._usual_interval + since)
        if self._all_reported and since.min(initial=1) > 0:
            self._last_report, self._usual_interval = reported, mean
            if not (state.ages > OVERDUE_AFTER * mean).any():
                return None
        else:
            is_new = (since > 0) & (self._last_report > 0)
            self._usual_interval = np.where(is_new, mean, self._usual_interval)
            self._last_report, self._all_reported = reported, bool((reported > 0).all())
        overdue = (state.ages > OVERDUE_AFTER * self._usual_interval) & (self._usual_interval > 0.0)
        overdue &= np.abs(state.v) > self._at_rest
        return overdue if overdue.any() else None
