# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hand guiding of the tool: locked directions, walls and speed limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.multibody.kernel_set import kernel_without_robot

from .gains import NO_LIMIT

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Guiding:
    """Settings of hand guiding; without arguments nothing is locked and no force acts on the hand.

    Attributes:
        locked: (6) along and around x y z of the root frame.
        lower, upper: (3) walls that bound the tool's origin, in the root frame [m].
        stiffness: (6) of locked directions and walls [N/m, Nm/rad].
        damping: (6) of free directions [Ns/m, Nms/rad].
        speed, angular_speed: of the tool, beyond which it is held back [m/s, rad/s].
    """

    locked: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(6, dtype=np.bool_))
    lower: Array = field(default_factory=lambda: np.full(3, -np.inf))
    upper: Array = field(default_factory=lambda: np.full(3, np.inf))
    stiffness: Array = field(default_factory=lambda: np.zeros(6))
    damping: Array = field(default_factory=lambda: np.zeros(6))
    speed: float = math.inf
    angular_speed: float = math.inf


def held_pose(
    held: Array, tool: Array, guiding: Guiding, speed: float, dt: float
) -> tuple[Array, NDArray[np.bool_]]:
    """Pose to which locks and walls pull a guided tool, after a step.

    It differs from the tool pose only in bound directions and starts at the tool pose: a new lock
    or a wall that the tool is beyond does not pull at once.

    Args:
        held: (4, 4) of the step before; the tool pose at the start.
        tool: (4, 4) in the root frame.
        guiding: locks and walls.
        speed: at which a wall pulls in a tool that is beyond it [m/s].
        dt: time since the last step [s], clipped to ``MAX_INTERVAL``.

    Returns:
        The pose (4, 4) in the root frame, and which directions (6) are bound.
    """
    pose, bound = kernel_without_robot('held_pose_step').call(
        *(tool, held, guiding.locked.astype(np.float64)),
        *np.clip((guiding.lower, guiding.upper), -NO_LIMIT, NO_LIMIT),
        *(speed, dt if math.isfinite(dt) else 0.0),
    )
    return pose, np.asarray(bound > 0.5)
