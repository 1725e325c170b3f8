# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts that are reported as a share, or in percent, of the effort limit of each joint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MIN_MISFIT_RATIO = 1.3
"""Ratio of misfits from which on another unit of the efforts is believed."""

MAX_LIMIT_RATIO = 1.5
"""Ratio of the largest to the smallest effort limit up to which shares of them look like one unit
for all joints."""


class Shares(NamedTuple):
    """Meaning of efforts.

    Attributes:
        words: name of the unit.
        limits: (nv) torque of one reported unit, by the effort limits [Nm or N].
    """

    words: str
    limits: Array


def effort_shares(robot: Robot) -> tuple[Shares, ...]:
    """Units that are shares of effort limits; none if limits are missing or all alike."""
    limits = robot.effort_limits
    if not len(limits) or not np.isfinite(limits).all() or limits.min() <= 0.0:
        return ()
    if limits.max() < MAX_LIMIT_RATIO * limits.min():
        return ()
    return Shares('percent', limits / 100.0), Shares('shares', limits)
