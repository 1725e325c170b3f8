# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts that are reported as a share, or in percent, of the effort limit of each joint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .misfit import MAX_UNIT_RATIO

Array = NDArray[np.float64]

MIN_MISFIT_RATIO = 1.3
"""Ratio of misfits from which on another unit of the efforts is believed."""

MAX_LIMIT_RATIO = 1.5
"""Ratio of the largest to the smallest effort limit up to which shares of them look like one unit
for all joints."""

MAX_SPREAD_RATIO = 0.7
"""Spread of the gains of joints with shares, relative to that without, from which on shares are
considered."""


class Shares(NamedTuple):
    """Meaning of efforts.

    Attributes:
        words: name of the unit.
        limits: (nv) torque of one reported unit, by the effort limits [Nm or N].
    """

    words: str
    limits: Array

    def explain(self, gains: Array) -> bool:
        """Whether gains (nv) of reported efforts over described torques, NaN if unknown, agree.

        They must be plausible as shares, and more alike than without.
        """
        known = np.isfinite(gains) & (gains > 0.0)
        if known.sum() < 2:
            return False
        before = np.log(gains[known])
        after = before + np.log(self.limits[known])
        if abs(np.median(after)) > np.log(MAX_UNIT_RATIO):
            return False
        return bool(np.ptp(after) < MAX_SPREAD_RATIO * np.ptp(before))


def effort_shares(robot: Robot) -> tuple[Shares, ...]:
    """Units that are shares of effort limits; none if limits are missing or all alike."""
    limits = robot.effort_limits
    if not len(limits) or not np.isfinite(limits).all() or limits.min() <= 0.0:
        return ()
    if limits.max() < MAX_LIMIT_RATIO * limits.min():
        return ()
    return Shares('percent', limits / 100.0), Shares('shares', limits)
