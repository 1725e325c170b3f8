# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Setpoint that moves to targets within speed and acceleration limits and stays near the tool."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.multibody.arguments import check_positive
from dynamics_ros.multibody.kernel_methods import kernel_without_robot
from dynamics_ros.settings import parameter

Array = NDArray[np.float64]

REST = np.zeros(6)
REST.setflags(write=False)


@dataclass(frozen=True)
class SetpointLimits:
    """Motion of the setpoint, the pose to which the springs pull, towards a target."""

    linear_speed: float = parameter(
        0.25, 'Largest linear speed of the setpoint', unit='m/s', minimum=1e-6, maximum=10.0
    )
    angular_speed: float = parameter(
        0.5, 'Largest angular speed of the setpoint', unit='rad/s', minimum=1e-6, maximum=50.0
    )
    linear_acceleration: float = parameter(
        1.0,
        'Largest linear acceleration of the setpoint',
        unit='m/s^2',
        minimum=1e-3,
        maximum=100.0,
    )
    angular_acceleration: float = parameter(
        2.0,
        'Largest angular acceleration of the setpoint',
        unit='rad/s^2',
        minimum=1e-3,
        maximum=500.0,
    )
    linear_lead: float = parameter(
        0.05,
        'Largest distance of the setpoint from the tool; limits the force of the springs to '
        'stiffness times this distance',
        unit='m',
        minimum=1e-4,
        maximum=1.0,
    )
    angular_lead: float = parameter(
        0.3,
        'Largest angle between setpoint and tool; limits the torque of the springs',
        unit='rad',
        minimum=1e-3,
        maximum=3.0,
    )

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_positive(name, value)

    @computed_once
    def rows(self) -> Array:
        """All limits as a matrix (3, 2)."""
        return np.array([getattr(self, item.name) for item in fields(self)]).reshape(3, 2)


class Setpoint:
    """Moves a pose within speed and acceleration limits and keeps it near the tool.

    Attributes:
        pose: (4, 4) in the root frame.
        twist: (6) of the pose in root axes [m/s, rad/s].
        waits: whether the last step was cut short to stay near the tool.
    """

    def __init__(self, pose: Array) -> None:
        self.place(pose)

    def place(self, pose: Array) -> None:
        """Set the setpoint to a pose (4, 4), at rest."""
        self.pose, self.twist, self.waits = np.array(pose, dtype=np.float64), REST, False

    def approach(self, goal: Array, tool: Array, limits: SetpointLimits, dt: float) -> None:
        """Move towards a goal pose for dt, to come to rest there.

        Args:
            goal, tool: (4, 4) in the root frame.
            limits: of the motion.
            dt: step time [s].
        """
        self._step(goal, REST, 1.0, tool, limits, dt)

    def drive(self, twist: Array, tool: Array, limits: SetpointLimits, dt: float) -> None:
        """Accelerate to a twist (6) in root axes and move with it; zero comes to rest.

        See `approach` for the other arguments.
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
        self.pose, self.twist, waits = kernel_without_robot('setpoint_step').call(
            self.pose, self.twist, goal, wanted, follows_goal, tool, limits.rows, dt
        )
        self.waits = bool(waits)
