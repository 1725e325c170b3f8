# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of single efforts and velocities, from differences that motion hardly affects.

Noise of efforts is modelled as white; that of velocities has a white part and, where drivers
compute them from encoder steps, that of differences of positions. What a driver's filter leaves of
it at low frequencies is learned as a part of the residuals in free motion (``uncertainty``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import MomentumObserver
from dynamics_ros.robot import Robot

from .filters import white_noise
from .samples import JointSamples

Array = NDArray[np.float64]

MIN_EFFORT_NOISE, MIN_VELOCITY_NOISE = 1e-4, 1e-5
"""Least noise [Nm or N], [rad/s or m/s]."""


@dataclass(frozen=True, eq=False)
class SampleNoise:
    """Noise of single samples in motion.

    Attributes:
        effort: (nv) standard deviation, as a torque [Nm or N].
        velocity: (nv) standard deviation [rad/s or m/s].
    """

    effort: Array
    velocity: Array

    @classmethod
    def none(cls, nv: int) -> SampleNoise:
        """Samples without noise."""
        return cls(*np.zeros((2, nv)))

    def of_torques(
        self, robot: Robot, observer: MomentumObserver, q: Array, period: float
    ) -> Array:
        """(n, nv) variances of external torques at configurations q (n, nq)."""
        gains = observer.noise_gains(period)
        momenta = np.square(robot.mass_matrix(q) * self.velocity).sum(axis=-1)
        found: Array = np.square(gains.effort * self.effort) + gains.momentum**2 * momenta
        return found


def sample_noise(stretches: Sequence[JointSamples], scale: Array) -> SampleNoise:
    """Noise of single samples.

    Args:
        stretches: stretches of a recording, of which the longest is used.
        scale: (nv) torque per unit of reported effort.
    """
    longest = max(stretches, key=len)
    effort, q, v = white_noise(longest.effort * scale), longest.position, longest.velocity
    if v is None:
        v = np.gradient(q, longest.period, axis=0)
    steps = np.diff(q, axis=0) / longest.period
    of_steps = np.sqrt(2.0) * white_noise(q) / longest.period
    velocity = np.minimum(white_noise(v), np.hypot(of_steps, white_noise(v[1:] - steps)))
    return SampleNoise(
        np.maximum(effort, MIN_EFFORT_NOISE), np.maximum(velocity, MIN_VELOCITY_NOISE)
    )
