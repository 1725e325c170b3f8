# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A tool that a hand leads: what locks and walls hold, and how fast it may go."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.control.impedance import MAX_INTERVAL
from dynamics_ros.multibody.end_effector.pose_error import pose_error
from dynamics_ros.spatial import Vector3, exp_matrix

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Guiding:
    """What a hand that leads the tool feels.

    Attributes:
        locked: (6) along and around x y z of the root frame.
        lower, upper: (3) walls that the tool's origin stays between [m].
        stiffness: (6) of locked directions and walls [N/m, Nm/rad].
        damping: (6) of free directions [Ns/m, Nms/rad].
        speed, angular_speed: of the tool, beyond which it is held back [m/s, rad/s].

    Without arguments nothing is locked and nothing is felt.
    """

    locked: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(6, dtype=np.bool_))
    lower: Array = field(default_factory=lambda: np.full(3, -np.inf))
    upper: Array = field(default_factory=lambda: np.full(3, np.inf))
    stiffness: Array = field(default_factory=lambda: np.zeros(6))
    damping: Array = field(default_factory=lambda: np.zeros(6))
    speed: float = math.inf
    angular_speed: float = math.inf


class HeldPose:
    """The pose to which locks and walls pull a tool that a hand leads.

    It differs from the tool's only in directions that are bound, and begins at the tool: neither a
    lock nor a wall that is set beside or before the tool pulls it at once.

    Attributes:
        pose: (4, 4) in the root frame.
    """

    def __init__(self, tool: Array) -> None:
        self.pose = tool

    def follow(self, tool: Array, guiding: Guiding, speed: float, dt: float) -> NDArray[np.bool_]:
        """Go with the tool where it is free.

        Args:
            tool: (4, 4) in the root frame.
            guiding: what binds it.
            speed: at which a wall that the tool is beyond pulls it in [m/s].
            dt: since the last call [s]; no more than ``MAX_INTERVAL`` is believed.

        Returns:
            (6) the directions that are bound.
        """
        into_walls = np.clip(tool[:3, 3], guiding.lower, guiding.upper) - tool[:3, 3]
        bound = guiding.locked.copy()
        bound[:3] |= into_walls != 0.0
        held = tool.copy()
        if bound[:3].any():
            off = self.pose[:3, 3] - tool[:3, 3]
            # `max` has 0.0 first: it takes that for a dt that is no number.
            step = speed * min(max(0.0, dt), MAX_INTERVAL)
            drawn = off + np.clip(into_walls - off, -step, step)
            held[:3, 3] += np.where(guiding.locked[:3], off, np.where(bound[:3], drawn, 0.0))
        if bound[3:].any():
            # Turned about free axes alone: nothing else would leave the locked ones where they are.
            turned = np.where(bound[3:], 0.0, pose_error(self.pose, tool)[3:])
            R = exp_matrix(-Vector3.of(turned.tolist()))
            held[:3, :3] = np.array([[*row] for row in R]) @ self.pose[:3, :3]
        self.pose = held
        return bound
