# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of a robot at one moment."""

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
