# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Interface of a simulation engine, which moves the bodies of a robot step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.robot import Robot

from .push import Push

Array = NDArray[np.float64]

TIME_STEP_NS = 1_000_000
"""Duration of a step in simulated time [ns]."""

DT = TIME_STEP_NS * 1e-9
"""Duration of a step in simulated time [s]."""


@dataclass(frozen=True)
class Drives:
    """Motors and friction of the joints after the root joint; arrays (n).

    Attributes:
        motor: function of the configuration (nq) in the middle of the step that returns c and s of
            the motor torques c - s v, with v at the end of the step.
        friction_slope: function of the current velocity v (n) that returns friction divided by v.
        effort_limits: of the motors [Nm or N].
    """

    motor: Callable[[Array], tuple[Array, Array]]
    friction_slope: Callable[[Array], Array]
    effort_limits: Array


class Engine(Protocol):
    """A simulation engine with the state of one robot.

    Attributes:
        robot: the robot.
        q: (nq) configuration.
        v: (nv) velocity.
        a: (nv) acceleration of the last step.
        touching: for each frame in contact, the wrench (6) of the ground in the last step, about
            the origin of the frame, in axes of the root frame.
    """

    robot: Robot
    q: Array
    v: Array
    a: Array
    touching: dict[str, Array]

    def step(self, drives: Drives, pushes: Sequence[Push]) -> None:
        """Advance by ``TIME_STEP_NS``.

        Args:
            drives: motors and friction of the joints.
            pushes: active external wrenches.
        """
