# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How an arm on springs behaves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.multibody.linear_systems import Array

from .guiding import Guiding
from .setpoint import SetpointLimits


@dataclass(frozen=True, eq=False)
class Compliance:
    """Springs and dampers of the tool.

    Attributes:
        stiffness: (6, 6) in the axes [N/m, Nm/rad].
        damping_ratio: 1 is critical.
        least_damping: (6) beside what follows from that ratio [Ns/m, Nms/rad].
        axes: (3, 3) in which they are given.
        axes_of_tool: whether the axes turn with the tool; else they rest in the root frame.
    """

    stiffness: Array
    damping_ratio: float = 0.9
    least_damping: Array = field(default_factory=lambda: np.zeros(6))
    axes: Array = field(default_factory=lambda: np.eye(3))
    axes_of_tool: bool = False


@dataclass(frozen=True, eq=False)
class ArmSettings:
    """How an arm behaves.

    Attributes:
        compliance: of the tool.
        guiding: when a hand leads it.
        setpoint: how targets are smoothed.
        joints: as for ``ImpedanceGains``.
        largest_inertia: likewise [kg].
        energy_capacity: likewise [J].
        blending_time: in which other gains are taken over [s].
        largest_speed: share of its velocity limit beyond which a joint is not led any more: torques
            whose rates are limited are late, and springs then drive an oscillation. inf for none.
    """

    compliance: Compliance
    guiding: Guiding = field(default_factory=Guiding)
    setpoint: SetpointLimits = field(default_factory=SetpointLimits)
    joints: Mapping[str, ArrayLike] = field(default_factory=dict)
    largest_inertia: float = 100.0
    energy_capacity: float = math.inf
    blending_time: float = 0.3
    largest_speed: float = 1.5
