# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""State of a robot at one time, or at consecutive times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import printable
from dynamics_ros.reasons import Explanation, Names, Reason

from .reports import Array, Stamps


class RobotState(NamedTuple):
    """Positions, velocities and efforts of a robot at one time, with masks of missing values.

    The arrays are never modified afterwards, so that callers may keep them. For n consecutive
    states with the same missing and stale joints, the first four have a leading axis.

    Attributes:
        time: newest time that all synchronized publishers have reported [ns]; with one publisher,
            the stamp of its message.
        q, v, effort: (nq), (nv), (nv) at that time, in the order of the model; missing velocities
            and efforts are zero.
        velocity_missing, effort_missing: joints without velocity or effort, or with an outdated one
            beside a new position.
        stale: joints, or 'odom', whose last report is too far from that time.
        stale_mask: (nv) the same as a mask.
        ages: (nv) age of the newest report of each joint at that time [ns], zero if it is newer;
            None if all values are from one message.
        overdue: (nv) mask of joints whose next report is late, by the usual interval of their
            publisher; None if there are none.
        not_finite: joints whose newest reported position is NaN or infinite; their values here are
            older. A node that commands such a joint must brake at once.
    """

    time: Any
    q: Array
    v: Array
    effort: Array
    velocity_missing: tuple[str, ...]
    effort_missing: tuple[str, ...]
    stale: tuple[str, ...]
    stale_mask: NDArray[np.bool_]
    ages: Stamps | None = None
    overdue: NDArray[np.bool_] | None = None
    not_finite: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of consecutive states."""
        return len(self.time)

    def batch(self) -> RobotState:
        """Returns consecutive states of which this is the only one."""
        time, one = np.array((self.time,)), np.newaxis
        return RobotState(time, self.q[one], self.v[one], self.effort[one], *self[4:])

    def part(self, begin: int, end: int) -> RobotState:
        """Returns the consecutive states from index ``begin`` to before ``end``."""
        q, v, effort = self.q[begin:end], self.v[begin:end], self.effort[begin:end]
        return RobotState(self.time[begin:end], q, v, effort, *self[4:])

    def row(self, i: int) -> RobotState:
        """Returns the consecutive state with index ``i``."""
        return RobotState(int(self.time[i]), self.q[i], self.v[i], self.effort[i], *self[4:])


def describe_not_finite(joints: Iterable[str]) -> Explanation:
    """Returns that the positions of joints are NaN or infinite; empty for no joints."""
    names = tuple(map(printable, joints))
    parts = 'position of ', Names(names, ', '.join(names)), ' not finite'
    return Explanation(Reason.POSITION_NOT_FINITE, *(parts if names else ()))


def describe_stale(state: RobotState) -> Explanation:
    """Returns which joints are stale, and why; empty if there are none."""
    if not state.stale:
        return Explanation(Reason.OK, '')
    if any(name in state.not_finite for name in state.stale):
        return describe_not_finite(state.not_finite)
    text = f'no news for longer than joint_timeout of: {", ".join(state.stale)}'
    return Explanation(Reason.JOINTS_STALE, text)
