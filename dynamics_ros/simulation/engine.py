# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What moves the bodies of a simulated robot by one step, and what it is told of the joints."""

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
"""Of simulated time per step: 1 ms."""

DT = TIME_STEP_NS * 1e-9
"""The same [s]."""


@dataclass(frozen=True)
class Drives:
    """What acts in the joints; arrays (n) of the joints after the root joint.

    Attributes:
        motor: from a configuration (nq) in the middle of the step to c and s of torques c - s v,
            with v at the end of the step.
        friction_slope: from the present v (n) to friction over v.
        effort_limits: of the motors.
    """

    motor: Callable[[Array], tuple[Array, Array]]
    friction_slope: Callable[[Array], Array]
    effort_limits: Array


class Engine(Protocol):
    """A robot that obeys mechanics.

    Attributes:
        robot: which one.
        q: (nq); v, a: (nv), the acceleration of the last step.
        touching: frame to the wrench (6) of the ground about its origin in the last step, in root
            axes.
    """

    robot: Robot
    q: Array
    v: Array
    a: Array
    touching: dict[str, Array]

    def step(self, drives: Drives, pushes: Sequence[Push]) -> None:
        """Go on by ``TIME_STEP_NS``."""
