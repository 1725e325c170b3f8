# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses that springs pull a tool to: a setpoint that moves, and what locks and walls hold."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.control.impedance import MAX_INTERVAL
from dynamics_ros.algorithms.control.setpoint import RESULTS, SHAPES, setpoint_step
from dynamics_ros.computed_once import computed_once
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.multibody.arguments import check_positive
from dynamics_ros.multibody.end_effector.pose_error import pose_error
from dynamics_ros.spatial import Vector3, exp_matrix

Array = NDArray[np.float64]

REST = np.zeros(6)
REST.setflags(write=False)


@dataclass(frozen=True)
class SetpointLimits:
    """How a setpoint may move, and how far from the tool it may be.

    Attributes:
        linear, angular: speeds [m/s, rad/s].
        linear_acceleration, angular_acceleration: [m/s^2, rad/s^2].
        linear_lead, angular_lead: largest distance and angle from the tool [m, rad].
    """

    linear: float = 0.25
    angular: float = 0.5
    linear_acceleration: float = 1.0
    angular_acceleration: float = 2.0
    linear_lead: float = 0.05
    angular_lead: float = 0.3

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_positive(name, value)

    @computed_once
    def rows(self) -> Array:
        """(3, 2) all of these."""
        return np.array([getattr(self, item.name) for item in fields(self)]).reshape(3, 2)


class Setpoint:
    """Moves a pose within speeds and accelerations, and keeps it near the tool.

    Attributes:
        pose: (4, 4) in the root frame.
        twist: (6) of the pose in root axes [m/s, rad/s].
        waits: whether it would have been too far from the tool.
    """

    def __init__(self, pose: Array) -> None:
        self.place(pose)

    def place(self, pose: Array) -> None:
        """Rest at a pose (4, 4)."""
        self.pose, self.twist, self.waits = np.array(pose, dtype=np.float64), REST, False

    def approach(self, goal: Array, tool: Array, limits: SetpointLimits, dt: float) -> None:
        """Go on towards a pose (4, 4) for dt [s], to come to rest there.

        Args:
            goal, tool: (4, 4).
            limits: of the motion.
            dt: [s].
        """
        self._step(goal, REST, 1.0, tool, limits, dt)

    def drive(self, twist: Array, tool: Array, limits: SetpointLimits, dt: float) -> None:
        """Go on with a twist (6), once it is reached; zero is the way to rest.

        The rest as of `approach`.
        """
        self._step(self.pose, twist, 0.0, tool, limits, dt)

    def _step(
        self,
        goal: Array,
        wanted: Array,
        follows_goal: float,
        tool: Array,
        limits: SetpointLimits,
        dt: float,
    ) -> None:
        self.pose, self.twist, waits = _kernel().call(
            self.pose, self.twist, goal, wanted, follows_goal, tool, limits.rows, dt
        )
        self.waits = bool(waits)


@dataclass(frozen=True, eq=False)
class Guiding:
    """What a hand that leads the tool feels.

    Attributes:
        locked: (6) along and around x y z of the root frame.
        lower, upper: (3) walls that the tool's origin stays between [m].
        stiffness: (6) of locked directions and walls [N/m, Nm/rad].
        damping: (6) of free directions [Ns/m, Nms/rad].

    Without arguments nothing is locked and nothing is felt.
    """

    locked: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(6, dtype=np.bool_))
    lower: Array = field(default_factory=lambda: np.full(3, -np.inf))
    upper: Array = field(default_factory=lambda: np.full(3, np.inf))
    stiffness: Array = field(default_factory=lambda: np.zeros(6))
    damping: Array = field(default_factory=lambda: np.zeros(6))


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


@cache
def _kernel() -> Kernel:
    def step(*arguments: Any) -> dict[str, Any]:
        return dict(zip(RESULTS, setpoint_step(*arguments), strict=True))

    # Waited for: nobody has time for the trace once an arm moves.
    return Kernel(trace(step, SHAPES, 'setpoint_step'), wait=True)
