# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Noise of single samples, from what of them does not go on smoothly in motion.

Noise of efforts is taken to be white. That of velocities has two parts: a white one, and that of
differences of positions whose noise is white, which drivers make of encoder steps. The second is
what reported positions tell of velocities, behind third differences that leave no motion over:

    v_k = sum of c_j (q_(k-j) - q_(k-j-1)) / T + white noise,

by least squares, so that a filter of the driver is seen through. Slowly, as observers see it, it
has the variance 2 (sum of c_j)^2 / T^2 times that of positions, whatever the filter is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .clock import Stretch

Array = NDArray[np.float64]

DIFFERENCES, WHITE, OF_POSITIONS = 3, 20.0, 70.0
"""How often values are differenced; what that makes of the variance of white noise, and of the
differences of white noise (sums of squared binomial coefficients)."""

EARLIEST, LATEST = -1, 4
"""Samples that a difference may come before a velocity, and after it."""

LEAST_EFFORT, LEAST_VELOCITY = 1e-4, 1e-5
"""Noise at least [Nm or N], [rad/s or m/s]."""


def noises_of(stretches: Sequence[Stretch], scale: Array) -> tuple[Array, Array, Array]:
    """Noise of single samples.

    Args:
        stretches: of a recording; the longest one counts.
        scale: (nv) torque over reported effort.

    Returns:
        Standard deviations (nv) of efforts [Nm or N] and of velocities [rad/s or m/s]; share (nv)
        of the variance of velocities that differences of positions make.
    """
    longest = max(stretches, key=len)
    effort = np.sqrt((_rough(longest.effort * scale) ** 2).mean(axis=0) / WHITE)
    velocity = longest.velocity
    if velocity is None:
        velocity = np.gradient(longest.position, longest.period, axis=0)
    steps = np.diff(longest.position, axis=0, prepend=longest.position[:1]) / longest.period
    variances = np.array(
        [_of_velocity(v, dq) for v, dq in zip(_rough(velocity).T, _rough(steps).T, strict=True)]
    )
    white, differenced = np.maximum(variances, 0.0).T
    total = np.maximum(white + differenced, LEAST_VELOCITY**2)
    return np.maximum(effort, LEAST_EFFORT), np.sqrt(total), differenced / total


def _rough(values: Array) -> Array:
    """What of values (n, ...) does not go on smoothly."""
    found: Array = np.diff(values, DIFFERENCES, axis=0)
    return found


def _of_velocity(v: Array, steps: Array) -> tuple[float, float]:
    """Variances of the white and of the differenced part.

    Args:
        v: (n) velocities, differenced.
        steps: (n) differences of positions over time, differenced.
    """
    # The first step is of a position that is not known; one comes up to the third differences.
    first, last = LATEST + 1, len(v) + EARLIEST
    if last - first < 2 * (LATEST - EARLIEST):
        return float(np.mean(v**2)) / WHITE, 0.0
    v = v[first:last]
    lagged = np.stack(
        [steps[first - lag : last - lag] for lag in range(EARLIEST, LATEST + 1)], axis=1
    )
    shares, *_ = np.linalg.lstsq(lagged, v, rcond=None)
    white = float(np.mean((v - lagged @ shares) ** 2)) / WHITE
    positions = float(np.mean(lagged[:, -EARLIEST] ** 2)) / OF_POSITIONS
    # A driver's filter lets slow changes through as they are.
    slow = float(np.clip(shares.sum(), 0.0, 1.0))
    return white, 2.0 * slow**2 * positions
