# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A setpoint that moves to targets within speeds and accelerations, and stays near the tool."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.control.setpoint import RESULTS, SHAPES, setpoint_step
from dynamics_ros.computed_once import computed_once
from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.multibody.arguments import check_positive

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


@cache
def _kernel() -> Kernel:
    def step(*arguments: Any) -> dict[str, Any]:
        return dict(zip(RESULTS, setpoint_step(*arguments), strict=True))

    # Waited for: nobody has time for the trace once an arm moves.
    return Kernel(trace(step, SHAPES, 'setpoint_step'), wait=True)
