# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hand guiding of the tool: locked directions, walls and speed limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.control.command import MAX_INTERVAL
from dynamics_ros.multibody.end_effector.pose_error import pose_error
from dynamics_ros.spatial import Vector3, exp_matrix

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


class HeldPose:
    """Pose to which locks and walls pull a guided tool.

    It differs from the tool pose only in bound directions and starts at the tool pose: a new lock
    or a wall that the tool is beyond does not pull at once.

    Attributes:
        pose: (4, 4) in the root frame.
    """

    def __init__(self, tool: Array) -> None:
        self.pose = tool

    def follow(self, tool: Array, guiding: Guiding, speed: float, dt: float) -> NDArray[np.bool_]:
        """Follow the tool in its free directions.

        Args:
            tool: (4, 4) in the root frame.
            guiding: locks and walls.
            speed: at which a wall pulls in a tool that is beyond it [m/s].
            dt: time since the last call [s], clipped to ``MAX_INTERVAL``.

        Returns:
            (6) which directions are bound.
        """
        into_walls = np.clip(tool[:3, 3], guiding.lower, guiding.upper) - tool[:3, 3]
        bound = guiding.locked.copy()
        bound[:3] |= into_walls != 0.0
        held = tool.copy()
        if bound[:3].any():
            off = self.pose[:3, 3] - tool[:3, 3]
            # With 0.0 first, `max` returns 0.0 for a dt that is NaN.
            step = speed * min(max(0.0, dt), MAX_INTERVAL)
            drawn = off + np.clip(into_walls - off, -step, step)
            held[:3, 3] += np.where(guiding.locked[:3], off, np.where(bound[:3], drawn, 0.0))
        if bound[3:].any():
            # Rotates about free axes only; any other rotation would change the locked ones.
            turned = np.where(bound[3:], 0.0, pose_error(self.pose, tool)[3:])
            R = exp_matrix(-Vector3.of(turned.tolist()))
            held[:3, :3] = np.array([[*row] for row in R]) @ self.pose[:3, :3]
        self.pose = held
        return bound
