# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of single efforts and velocities, from differences that motion hardly affects.

Noise of efforts is modelled as white. Noise of velocities has two parts: a white one, and
differences of positions with white noise, which drivers compute from encoder steps. The second part
is the part of the velocities that reported positions explain, in third differences, which contain
almost no motion:

    v_k = sum of c_j (q_(k-j) - q_(k-j-1)) / T + white noise,

by least squares, so a filter of the driver is identified too. At low frequency, which matters for
observers, it has the variance 2 (sum of c_j)^2 / T^2 times that of positions, for any filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .clock import Stretch

Array = NDArray[np.float64]

DIFFERENCES, NOISE_FACTOR, DIFFERENCE_FACTOR = 3, 20.0, 70.0
"""Order of the differences; factors on the variance of white noise, and of differences of white
noise (sums of squared binomial coefficients)."""

FIRST_LAG, LAST_LAG = -1, 4
"""Range of samples by which a position difference may precede a velocity."""

MIN_FILTER_SUM = 0.1
"""Least gain of a driver's filter at low frequency from which it is a filter of positions."""

MIN_EFFORT_NOISE, MIN_VELOCITY_NOISE = 1e-4, 1e-5
"""Least noise [Nm or N], [rad/s or m/s]."""


class Noises(NamedTuple):
    """Noise of single samples.

    Attributes:
        effort: (nv) standard deviations of efforts [Nm or N].
        velocity: (nv) standard deviations of velocities as they act at low frequency [rad/s or
            m/s].
        differenced: (nv) share of the velocity variance from position differences.
        driver_filter: (nv, lags) weights of consecutive position differences in a velocity; their
            sum is 1, or 0 if velocities do not depend on reported positions.
    """

    effort: Array
    velocity: Array
    differenced: Array
    driver_filter: Array


def noises_of(stretches: Sequence[Stretch], scale: Array) -> tuple[Array, Array, Array]:
    """Effort noise, velocity noise and differenced share of ``sample_noises``."""
    return sample_noises(stretches, scale)[:3]


def sample_noises(stretches: Sequence[Stretch], scale: Array) -> Noises:
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
    fits = [
        _velocity_variances(v, dq)
        for v, dq in zip(_third_differences(velocity).T, _third_differences(steps).T, strict=True)
    ]
    variances = np.array([fit[:2] for fit in fits])
    white, differenced = np.maximum(variances, 0.0).T
    total = np.maximum(white + differenced, MIN_VELOCITY_NOISE**2)
    return Noises(
        np.maximum(effort, MIN_EFFORT_NOISE),
        np.sqrt(total),
        differenced / total,
        np.array([fit[2] for fit in fits]),
    )


def _third_differences(values: Array) -> Array:
    """Third differences of values (n, ...) along the first axis."""
    found: Array = np.diff(values, DIFFERENCES, axis=0)
    return found


def _velocity_variances(v: Array, steps: Array) -> tuple[float, float, Array]:
    """Variances of the white and of the differenced part of a velocity, and the driver's filter.

    Args:
        v: (n) third differences of velocities.
        steps: (n) third differences of position differences over time.
    """
    # Skip third differences that contain the unknown position before the first sample.
    first, last = LAST_LAG + 1, len(v) + FIRST_LAG
    if last - first < 2 * (LAST_LAG - FIRST_LAG):
        return float(np.mean(v**2)) / NOISE_FACTOR, 0.0, np.zeros(LAST_LAG - FIRST_LAG + 1)
    v = v[first:last]
    lagged = np.stack(
        [steps[first - lag : last - lag] for lag in range(FIRST_LAG, LAST_LAG + 1)], axis=1
    )
    shares, *_ = np.linalg.lstsq(lagged, v, rcond=None)
    white = float(np.mean((v - lagged @ shares) ** 2)) / NOISE_FACTOR
    positions = float(np.mean(lagged[:, -FIRST_LAG] ** 2)) / DIFFERENCE_FACTOR
    # A filter of the driver has unit gain at low frequency.
    slow = float(np.clip(shares.sum(), 0.0, 1.0))
    filtered = np.zeros(len(shares))
    if shares.sum() > MIN_FILTER_SUM:
        filtered[:] = shares / shares.sum()
    return white, 2.0 * slow**2 * positions, filtered
