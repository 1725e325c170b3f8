# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints whose news do not come although they move: what is felt without them would be false."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .robot_state import RobotState

PATIENCE = 0.95
"""Usual intervals after which news of a moving joint is overdue. Publishers that take turns are
younger when another one reports; a single old momentum is felt as a blow."""

AT_REST = 0.02
"""A joint that was slower when last heard of is taken to stand still [rad/s or m/s]."""


class Lateness:
    """Learns how often each joint reports, and says which are late and were moving."""

    def __init__(self, size: int, places: Mapping[str, int]) -> None:
        """Begin; of so many velocities, each joint with the place of its own."""
        self._places = dict(places)
        self._heard = np.zeros(size, dtype=np.int64)
        self._usual = np.zeros(size)
        self._last = 0
        self._all_heard = False
        # The interval while all came at once; 0 while they do not.
        self._whole = 0

    def unusable(self, state: RobotState) -> str:
        """Why nothing may be estimated from a state; empty when something may."""
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
        """(nv) which joints are late; None where none is, which is usual and quick.

        Args:
            state: the state.
            stamp: of it [ns].
        """
        if state.ages is None:
            if stamp > self._last:
                self._whole = stamp - self._last
            self._last, self._all_heard = stamp, False
            return None
        before, self._last = self._last, stamp
        if self._all_heard and stamp > before and not state.ages.any():
            # Usual for publishers in step: news of all joints.
            self._usual += stamp - self._heard
            self._usual *= 0.5
            self._heard[:] = stamp
            return None
        if self._whole:
            # This partial message is measured by what was usual while all came at once.
            self._heard[:] = 0
            self._usual.fill(self._whole)
            self._whole = 0
        heard = stamp - state.ages
        since = heard - self._heard
        news = (since > 0) & (self._heard > 0)
        # An interval counts half: a lost message does not make the next one less late.
        self._usual = np.where(news, 0.5 * (self._usual + since), self._usual)
        self._heard, self._all_heard = heard, bool((heard > 0).all())
        late = (state.ages > PATIENCE * self._usual) & (self._usual > 0.0)
        late &= np.abs(state.v) > AT_REST
        return late if late.any() else None
