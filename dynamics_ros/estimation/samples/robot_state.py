# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of a robot at one moment, and at many in a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .history import Array, Stamps


class RobotState(NamedTuple):
    """Positions, velocities and efforts of a robot at one moment, and which of them are known.

    Attributes:
        time: the newest moment that all publishers in step have told about; with one publisher,
            the stamp of its message [ns].
        q, v, effort: (nq), (nv), (nv) at that moment, in the order of the model; what is missing in
            v or effort is zero.
        velocity_missing, effort_missing: joints without a velocity or effort, or an old one beside
            a new position.
        stale: joints, or 'odom', last heard of too long before that moment.
        stale_mask: (nv) the same as a mask.
        ages: (nv) how much older than that moment what is known of each joint is [ns]; zero where
            it was told later as well; None when all is of one message.

    Nobody writes into its arrays, so that they may be kept.
    """

    time: int
    q: Array
    v: Array
    effort: Array
    velocity_missing: tuple[str, ...]
    effort_missing: tuple[str, ...]
    stale: tuple[str, ...]
    stale_mask: NDArray[np.bool_]
    ages: Stamps | None = None


class RobotStates(NamedTuple):
    """Consecutive states of which the same is known.

    Attributes:
        time: (n) as of each state [ns].
        q, v, effort: (n, nq), (n, nv), (n, nv).
        velocity_missing, effort_missing, stale, stale_mask, ages: of all of them.
    """

    time: Stamps
    q: Array
    v: Array
    effort: Array
    velocity_missing: tuple[str, ...]
    effort_missing: tuple[str, ...]
    stale: tuple[str, ...]
    stale_mask: NDArray[np.bool_]
    ages: Stamps | None = None

    @classmethod
    def of(cls, state: RobotState) -> RobotStates:
        """A single one."""
        one = np.newaxis
        return cls(
            np.array((state.time,)), state.q[one], state.v[one], state.effort[one], *state[4:]
        )

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.time)

    def part(self, begin: int, end: int) -> RobotStates:
        """Those from one row on to before another."""
        some = slice(begin, end)
        return RobotStates(
            self.time[some], self.q[some], self.v[some], self.effort[some], *self[4:]
        )

    def row(self, i: int) -> RobotState:
        """One of them."""
        return RobotState(int(self.time[i]), self.q[i], self.v[i], self.effort[i], *self[4:])
