# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Deviation of external torques due to errors of the model, as the robot moves.

The equations are in ``algorithms/contact/unexplained.py``; ``ContactDetector`` evaluates them. The
numbers come from free motion
(``identification/uncertainty``) and reach the estimators as the parameters ``effort.model_error``
and ``unexplained.*``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import SLOW

from .thresholds import motion_scales

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Error of a model's joint torques, learned from free motion.

    Attributes:
        constant: (nv) constant deviation in addition to sample noise [Nm or N].
        speed: (nv) deviation per velocity [Nms/rad or Ns/m].
        load: (nv) deviation per joint torque [1].
        reversal: (nv) deviation at a reversal of the joint [Nm or N].
        standing: (nv) largest friction that may hold the joint at standstill [Nm or N].
        fastest: (nv) speed up to which the model is known [rad/s or m/s].
        beyond: (nv) deviation per velocity above ``fastest`` [Nms/rad or Ns/m].
        tail: (nv) factor on the number of deviations that is a contact: ratio of the rare largest
            residuals to those of a normal distribution; 1 or more.
    """

    constant: Vector
    speed: Vector
    load: Vector
    reversal: Vector
    standing: Vector
    fastest: Vector
    beyond: Vector
    tail: Vector


NOISY = 4.0
"""Least ratio of the speed of a joint that is not at rest to the noise of its velocity."""


def slow_speeds(robot: Robot, velocity_noise: Vector) -> Vector:
    """Returns the speeds (nv) below which joints are near a reversal or at rest."""
    return np.maximum(SLOW * motion_scales(robot), NOISY * velocity_noise)
