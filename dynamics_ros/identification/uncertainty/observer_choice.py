# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The observer that keeps noise of velocities small enough for contacts to be found.

A momentum observer answers at once and lets nearly K M(q) times the noise of velocities through:
with encoder steps of 1e-4 rad and their differences at 500 Hz that is 1.5 Nm for each kg m^2, more
than most contacts. A Kalman filter that knows how the noise hangs together shows an external torque
as late, after 1/K, with a tenth of that, but begins softly. It is taken where the first is too
noisy, and made slower where it is too noisy itself: with K its noise grows as K^2.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel, KalmanObserver, MomentumObserver, TorqueObserver
from dynamics_ros.estimation.observers import GAIN
from dynamics_ros.estimation.uncertainty.thresholds import by_effort_limit
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

LOUD = 0.004
"""Deviation that noise may have, over the effort limit: with five of them a contact is found at a
tenth of what is a collision."""

LOUD_WITHOUT_LIMIT = 0.6
"""The same for a joint without an effort limit [Nm or N]."""

SLOWER, SLOWEST = 0.8, 10.0
"""Factor from one gain that is tried to the next; the last of them [1/s]."""

POSTURES = 50


@dataclass(frozen=True, eq=False)
class SampleNoise:
    """Noise of single samples in motion.

    Attributes:
        effort: (nv) standard deviation, as a torque [Nm or N].
        velocity: (nv) standard deviation [rad/s or m/s].
        differenced: (nv) share of the variance of velocities that differences of positions make.
    """

    effort: Array
    velocity: Array
    differenced: Array

    def of_torques(self, robot: Robot, observer: TorqueObserver, q: Array, period: float) -> Array:
        """(n, nv) variance of external torques at configurations q (n, nq)."""
        gains = observer.noise_gains(period)
        momenta = np.square(robot.mass_matrix(q) * self.velocity).sum(axis=-1)
        found: Array = np.square(gains.effort * self.effort) + gains.momentum**2 * momenta
        return found


@dataclass(frozen=True)
class ObserverChoice:
    """What observes the external torques of a robot with such noise.

    Attributes:
        kind: as ``observer.kind`` of contact_node.
        gain: K [1/s].
    """

    kind: str = MomentumObserver.kind
    gain: float = GAIN

    def made(
        self, robot: Robot, model: EffortModel, noise: SampleNoise, max_gap: float
    ) -> TorqueObserver:
        """The observer."""
        options: dict[str, Any] = {
            'effort_model': model,
            'max_gap': max_gap,
            'velocity_differenced': noise.differenced,
        }
        if self.kind == MomentumObserver.kind:
            return MomentumObserver(robot, self.gain, **options)
        return KalmanObserver(
            *(robot, self.gain),
            effort_noise=noise.effort,
            velocity_noise=noise.velocity,
            **options,
        )


def chosen_observer(
    robot: Robot, noise: SampleNoise, q: Array, period: float, left_over: Array | float
) -> ObserverChoice:
    """The observer of contact_node by default, unless noise of velocities is too much for it.

    Args:
        robot: the robot.
        noise: of its samples.
        q: (n, nq) configurations that it was in.
        period: of the samples [s].
        left_over: number or (nv), what its model leaves unexplained: noise that is less does no
            harm [Nm or N].
    """
    usual = ObserverChoice()
    of_velocities = SampleNoise(np.full(robot.nv, 1e-9), noise.velocity, noise.differenced)
    most = np.maximum(by_effort_limit(robot, LOUD, LOUD_WITHOUT_LIMIT), left_over)
    q = q[:: max(1, len(q) // POSTURES)]

    def quiet(choice: ObserverChoice, noise: SampleNoise) -> bool:
        observer = choice.made(robot, EffortModel.ideal(robot), noise, 1.0)
        variance = of_velocities.of_torques(robot, observer, q, period).mean(axis=0)
        return bool(np.all(variance <= most**2))

    if quiet(usual, noise):
        return usual
    gain = usual.gain
    while gain * SLOWER > SLOWEST:
        choice = ObserverChoice(KalmanObserver.kind, gain)
        if quiet(choice, noise):
            return choice
        gain *= SLOWER
    return ObserverChoice(KalmanObserver.kind, SLOWEST)
