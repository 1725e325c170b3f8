# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings of a compliant arm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.multibody.arguments import finite_arrays
from dynamics_ros.multibody.linear_systems import Array

from .setpoint import SetpointLimits


@dataclass(frozen=True, eq=False)
class Compliance:
    """Cartesian stiffness and damping of the tool.

    Attributes:
        stiffness: (6, 6) in root axes [N/m, Nm/rad].
        damping_ratio: 1 is critical.
        least_damping: (6, 6) in root axes, added to the damping of that ratio [Ns/m, Nms/rad];
            with any, the tool is held back beyond the speeds of the setpoint.
    """

    stiffness: Array
    damping_ratio: float = 0.9
    least_damping: Array = field(default_factory=lambda: np.zeros((6, 6)))

    def __post_init__(self) -> None:
        finite_arrays('least_damping', self.least_damping, (6, 6), many=False)


@dataclass(frozen=True, eq=False)
class Guiding:
    """Settings of hand guiding; without arguments no force acts on the hand.

    Attributes:
        damping: (6) along and around x y z of the root frame [Ns/m, Nms/rad].
        speed, angular_speed: of the tool, beyond which it is held back [m/s, rad/s].
    """

    damping: Array = field(default_factory=lambda: np.zeros(6))
    speed: float = math.inf
    angular_speed: float = math.inf


@dataclass(frozen=True, eq=False)
class ArmSettings:
    """Settings of a compliant arm.

    Attributes:
        compliance: of the tool.
        guiding: behaviour while a hand guides the tool.
        setpoint: limits that smooth the targets.
        joints: as for ``ImpedanceGains``.
        largest_inertia: as for ``ImpedanceGains`` [kg].
        blending_time: time in which changed gains take effect [s].
        largest_speed: share of its velocity limit beyond which a joint is braked instead of
            controlled, since rate-limited torques lag and the springs would drive an oscillation;
            inf for none.
    """

    compliance: Compliance
    guiding: Guiding = field(default_factory=Guiding)
    setpoint: SetpointLimits = field(default_factory=SetpointLimits)
    joints: Mapping[str, ArrayLike] = field(default_factory=dict)
    largest_inertia: float = 100.0
    blending_time: float = 0.3
    largest_speed: float = 1.5
