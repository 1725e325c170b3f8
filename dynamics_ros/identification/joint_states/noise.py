# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of single efforts and velocities, from differences that motion hardly affects.

Noise of efforts is modelled as white. Noise of velocities has two parts: a white one, and
differences of positions with white noise, which drivers compute from encoder steps. The second part
is the part of the velocities that reported positions explain, in third differences, which contain
almost no motion:

    v_k = sum of c_j F(q_(k-j) - q_(k-j-1)) / T + white noise,

by least squares, with a low-pass filter F whose pole is found by a search. Together they represent
moving averages, delays and the usual low-pass filters of drivers. The variance of this part is that
of positions times the sum of the squared impulse response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.estimation import MomentumObserver
from dynamics_ros.robot import Robot

from .samples import JointSamples

Array = NDArray[np.float64]

DIFFERENCES, NOISE_FACTOR, DIFFERENCE_FACTOR = 3, 20.0, 70.0
"""Order of the differences; factors on the variance of white noise, and of differences of white
noise (sums of squared binomial coefficients)."""

POLES = (0.0, *(1.0 - 0.85**k for k in range(1, 24)))
"""Poles of the filter F."""

MAX_LEFT = 0.95
"""Largest part of the unexplained variance without F that is left with it."""

FORGOTTEN = 10.0
"""Time constants of F after which its start is forgotten."""

MAX_ROWS = 20_000
"""Number of samples with which the pole is found."""

FIRST_LAG, LAST_LAG = -1, 4
"""Range of samples by which a position difference may precede a velocity."""

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
    effort = np.sqrt((_third_differences(longest.effort * scale) ** 2).mean(axis=0) / NOISE_FACTOR)
    velocity = longest.velocity
    if velocity is None:
        velocity = np.gradient(longest.position, longest.period, axis=0)
    steps = np.diff(longest.position, axis=0, prepend=longest.position[:1]) / longest.period
    variances = [
        _velocity_variance(v, dq)
        for v, dq in zip(_third_differences(velocity).T, _third_differences(steps).T, strict=True)
    ]
    return SampleNoise(
        np.maximum(effort, MIN_EFFORT_NOISE), np.maximum(np.sqrt(variances), MIN_VELOCITY_NOISE)
    )


def _third_differences(values: Array) -> Array:
    """Third differences of values (n, ...) along the first axis."""
    found: Array = np.diff(values, DIFFERENCES, axis=0)
    return found


def _velocity_variance(v: Array, steps: Array) -> float:
    """Variance of the noise of a velocity.

    Args:
        v: (n) third differences of velocities.
        steps: (n) third differences of position differences over time.
    """
    # Skip third differences that contain the unknown position before the first sample.
    first, last = LAST_LAG + 1, len(v) + FIRST_LAG
    if last - first < 2 * (LAST_LAG - FIRST_LAG):
        return float(np.mean(v**2)) / NOISE_FACTOR
    some = slice(max(0, len(v) - MAX_ROWS), len(v))
    left = [_fit(v[some], steps[some], pole)[1] for pole in POLES]
    best, pole = int(np.argmin(left)), 0.0
    # A filter that explains nothing more is chance.
    if left[best] < MAX_LEFT * left[0]:
        between = POLES[max(best - 1, 0)], POLES[min(best + 1, len(POLES) - 1)]
        pole = scipy.optimize.minimize_scalar(
            lambda pole: _fit(v[some], steps[some], pole)[1], bounds=between, method='bounded'
        ).x
    shares, white = _fit(v, steps, pole)
    positions = float(np.mean(steps[first:last] ** 2)) / DIFFERENCE_FACTOR
    decays = (1.0 - pole) * pole ** np.arange(round(FORGOTTEN / (1.0 - pole)))
    response = np.convolve(np.convolve(shares, decays), [1.0, -1.0])
    return white + positions * float(response @ response)


def _fit(v: Array, steps: Array, pole: float) -> tuple[Array, float]:
    """Weights of filtered position differences in a velocity, and the variance of the remainder.

    Args:
        v, steps: as of ``_velocity_variance``.
        pole: pole of the filter F.
    """
    # The output of F before the first sample is unknown, and forgotten after some time constants.
    first = LAST_LAG + 1 + min(round(FORGOTTEN / (1.0 - pole)), len(v) // 2)
    last = len(v) + FIRST_LAG
    filtered = scipy.signal.lfilter([1.0 - pole], [1.0, -pole], steps)
    lagged = np.stack(
        [filtered[first - lag : last - lag] for lag in range(FIRST_LAG, LAST_LAG + 1)], axis=1
    )
    # Of the normal equations, which takes a fifth of the time; columns are differences of noise.
    shares, *_ = np.linalg.lstsq(lagged.T @ lagged, lagged.T @ v[first:last], rcond=None)
    return shares, float(np.mean((v[first:last] - lagged @ shares) ** 2)) / NOISE_FACTOR
