# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Choice of an observer with small enough noise for contact detection.

A momentum observer responds at once, and passes almost K M(q) times the noise of velocities: with
differences of encoder steps of 1e-4 rad at 500 Hz this is 1.5 Nm per kg m^2, more than most
contacts. A Kalman filter that models the correlation of this noise has the same delay 1/K and a
tenth of the noise, but responds slowly at first. It is used if the momentum observer is too noisy,
with a lower gain if necessary: its noise grows as K^2.5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel, KalmanObserver, MomentumObserver, TorqueObserver
from dynamics_ros.estimation.observers import GAIN
from dynamics_ros.estimation.uncertainty.thresholds import by_effort_limit
from dynamics_ros.identification.joint_states.noise import SampleNoise
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MAX_NOISE = 0.004
"""Largest standard deviation of noise over the effort limit: five of them are a tenth of the torque
of a collision."""

GAIN_RATIO, MIN_GAIN = 0.8, 10.0
"""Ratio of consecutive candidate gains; lowest gain [1/s]."""

POSTURES = 50


@dataclass(frozen=True)
class ObserverChoice:
    """Kind and gain of an observer of external torques.

    Attributes:
        kind: as ``observer.kind`` of contact_node.
        gain: K [1/s].
    """

    kind: str = MomentumObserver.kind
    gain: float = GAIN

    def made(
        self, robot: Robot, model: EffortModel, noise: SampleNoise, max_gap: float
    ) -> TorqueObserver:
        """Create the observer; ``max_gap`` is its largest gap between samples [s]."""
        options: dict[str, Any] = {
            'effort_model': model,
            'max_gap': max_gap,
            'velocity_differenced': noise.differenced,
            'velocity_cutoff': noise.cutoff,
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
    """The default observer of contact_node, or a Kalman filter if velocities are too noisy for it.

    Args:
        robot: the robot.
        noise: noise of its samples.
        q: (n, nq) recorded configurations.
        period: sampling period [s].
        left_over: RMS residual of the model, number or (nv); smaller noise is accepted [Nm or N].
    """
    usual = ObserverChoice()
    of_velocities = replace(noise, effort=np.full(robot.nv, 1e-9))
    most = np.maximum(by_effort_limit(robot, MAX_NOISE), left_over)
    q = q[:: max(1, len(q) // POSTURES)]

    def quiet(choice: ObserverChoice, noise: SampleNoise) -> bool:
        observer = choice.made(robot, EffortModel.ideal(robot), noise, 1.0)
        variance = of_velocities.of_torques(robot, observer, q, period).mean(axis=0)
        return bool(np.all(variance <= most**2))

    if quiet(usual, noise):
        return usual
    gain = usual.gain
    while gain * GAIN_RATIO > MIN_GAIN:
        choice = ObserverChoice(KalmanObserver.kind, gain)
        if quiet(choice, noise):
            return choice
        gain *= GAIN_RATIO
    return ObserverChoice(KalmanObserver.kind, MIN_GAIN)
