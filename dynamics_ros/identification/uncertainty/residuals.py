# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques from the observer of contact_node in recordings.

A momentum observer passes almost K M(q) times the noise of velocities: with differences of encoder
steps of 1e-4 rad at 500 Hz this is 1.5 Nm per kg m^2, more than most contacts. If it is too noisy,
its gain is reduced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import ROWS, STANDS_AFTER
from dynamics_ros.estimation import EffortModel, MomentumObserver
from dynamics_ros.estimation.observers import GAIN
from dynamics_ros.estimation.uncertainty.thresholds import by_effort_limit, slow_speeds
from dynamics_ros.identification import JointSamples, UnusableRecordingError
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.joint_states.noise import SampleNoise
from dynamics_ros.identification.joint_states.samples import joined
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

MAX_NOISE = 0.004
"""Largest standard deviation of noise over the effort limit: five of them are a tenth of the torque
of a collision."""

GAIN_RATIO, MIN_GAIN, GAINS = 0.8, 10.0, 11
"""Ratio of consecutive candidate gains; lowest gain [1/s]; number of candidates."""

POSTURES = 50


def chosen_gain(
    robot: Robot, noise: SampleNoise, q: Array, period: float, left_over: Array | float
) -> float:
    """The default observer gain of contact_node, or a lower one if velocities are too noisy [1/s].

    Args:
        robot: the robot.
        noise: noise of its samples.
        q: (n, nq) recorded configurations.
        period: sampling period [s].
        left_over: RMS residual of the model, number or (nv); smaller noise is accepted [Nm or N].
    """
    of_velocities = replace(noise, effort=np.full(robot.nv, 1e-9))
    most = np.maximum(by_effort_limit(robot, MAX_NOISE), left_over)
    q = q[:: max(1, len(q) // POSTURES)]

    def quiet(gain: float) -> bool:
        observer = MomentumObserver(robot, gain)
        variance = of_velocities.of_torques(robot, observer, q, period).mean(axis=0)
        return bool(np.all(variance <= most**2))

    gains = [max(GAIN * GAIN_RATIO**k, MIN_GAIN) for k in range(GAINS)]
    return next((gain for gain in gains if quiet(gain)), MIN_GAIN)


SETTLED = 5.0
"""Settling time of the observer in time constants."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """External torques in free motion, one row per time constant of the observer.

    Attributes:
        torque: (n, nv) external torques [Nm or N].
        v, load: (n, nv) velocities, and joint torques without friction.
        reversal: (n, nv) share of a reversal, from 0 to 1.
        noise: (n, nv) variances of the torques due to noise of the samples.
        standing: (n, nv) whether joints are at rest.
        time: (n) time since the first stamp of the first recording [s].
    """

    torque: Array
    v: Array
    load: Array
    reversal: Array
    noise: Array
    standing: NDArray[np.bool_]
    time: Array

    @property
    def second(self) -> NDArray[np.int64]:
        """(n) index of the second to which a row belongs."""
        return np.floor(self.time).astype(np.int64)


def residuals_of(
    robot: Robot,
    model: EffortModel,
    recordings: Sequence[JointSamples],
    gain: float,
    noise: SampleNoise,
) -> Residuals:
    """Run the observer of contact_node over recordings.

    Args:
        robot, model, recordings: as in ``learn_unexplained``.
        gain: gain of the observer [1/s].
        noise: noise of the samples.

    Raises:
        UnusableRecordingError: the recordings are too short for the observer to settle.
    """
    parts, begin = [], 0.0
    for samples in recordings:
        stretches = regular_stretches(samples)
        for one in stretches:
            gap = 10.0 * one.period
            observer = MomentumObserver(robot, gain, effort_model=model, max_gap=gap)
            parts.append(_residuals_of_stretch(observer, noise, one, begin - stretches[0].time[0]))
        begin += np.ceil(samples.duration) + 1.0
    parts = [part for part in parts if len(part.torque)]
    if not parts:
        raise UnusableRecordingError('less than a second without a gap: no residual to learn from')
    return joined(Residuals, parts)


def _residuals_of_stretch(
    observer: MomentumObserver, noise: SampleNoise, stretch: JointSamples, shift: float
) -> Residuals:
    """Run an observer over a stretch; ``shift`` is added to its times [s]."""
    robot, model, gain = observer.robot, observer.effort_model, float(observer.gain[0])
    kernel, period = robot.kernel('contact_excess'), stretch.period
    for one in (robot.kernel('observer_step', 'instant'), kernel):
        one.wait()
    v = stretch.velocity
    if v is None:
        v = np.diff(stretch.position, axis=0, prepend=stretch.position[:1]) / period
    rows, nothing = np.zeros((len(ROWS), robot.nv)), np.zeros(robot.nv)
    rows[ROWS.index('slow')] = slow_speeds(robot, noise.velocity)
    memory = np.stack([v[0], np.ones(robot.nv), nothing, v[0]])
    torque, turning, still = np.zeros((3, *v.shape))
    for k, (q, one, effort) in enumerate(zip(stretch.position, v, stretch.effort, strict=True)):
        torque[k] = observer.update(round(k * period * 1e9), q, one, effort)
        motion = one, nothing, memory, period, rows, nothing, rows[:2], nothing
        *_, memory = kernel.call(nothing, *motion)
        turning[k], still[k] = memory[1], memory[2]
    first = round(SETTLED / gain / period)
    taken = slice(first, None, max(1, round(1.0 / (gain * period))))
    # The external torque is not part of the load.
    load = model.scale * stretch.effort + model.offset + torque
    standing = still[taken] >= STANDS_AFTER
    q, time = stretch.position[taken], shift + stretch.time[taken]
    return Residuals(
        *(torque[taken], v[taken], load[taken], turning[taken]),
        *(noise.of_torques(robot, observer, q, period), standing, time),
    )
