# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Low-pass filter of the gravity direction of a tilting base, from a noisy source."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.multibody.arguments import check_not_negative, check_positive, finite_vector

Array = NDArray[np.float64]

MAX_GAP = 5.0
"""Longest gap between samples, in time constants, before the filter restarts."""

AT_REST = 0.1
"""Relative deviation of the specific force from gravity above which the base is accelerating."""


class GravityFilter:
    """First-order low-pass filter of directions, exact for any sample interval.

    Attributes:
        magnitude: gravitational acceleration, not estimated from the samples [m/s^2].
    """

    def __init__(self, magnitude: float, time_constant: float) -> None:
        """Creates a filter without a direction.

        Args:
            magnitude: gravitational acceleration [m/s^2].
            time_constant: s; 0 disables filtering.

        Raises:
            InvalidArgumentError: a value is out of range.
        """
        check_positive('magnitude', magnitude)
        check_not_negative('time_constant', time_constant)
        self.magnitude = magnitude
        self._time_constant = time_constant
        self._stamp = 0
        self._mean: Array | None = None

    @property
    def gravity(self) -> Array | None:
        """(3) gravity in the sample axes [m/s^2]; None before the first sample."""
        if self._mean is None:
            return None
        gravity: Array = self.magnitude / np.linalg.norm(self._mean) * self._mean
        return gravity

    def differs_from(self, gravity: ArrayLike, least_angle: float) -> bool:
        """Whether a gravity (3) differs from that of the filter by an angle or more [rad]."""
        if self.gravity is None:
            return False
        least = 2.0 * math.sin(0.5 * least_angle) * self.magnitude
        return bool(np.linalg.norm(self.gravity - np.asarray(gravity, float)) >= least)

    def add_specific_force(self, stamp: int, force: ArrayLike) -> bool:
        """Adds an accelerometer sample, which at rest is the negative of gravity.

        Args:
            stamp: ns.
            force: (3) specific force [m/s^2].

        Returns:
            False if the sample was skipped because the base accelerates.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        reading = finite_vector('force', force, 3)
        if abs(np.linalg.norm(reading) / self.magnitude - 1.0) > AT_REST:
            return False
        self.add(stamp, -reading)
        return True

    def add(self, stamp: int, direction: ArrayLike) -> None:
        """Adds a direction (3) of any non-zero length with its stamp [ns].

        Raises:
            InvalidArgumentError: a wrong shape, NaN or zero length.
        """
        vector = finite_vector('direction', direction, 3)
        length = float(np.linalg.norm(vector))
        check_positive('direction', length)
        unit = vector / length
        elapsed, self._stamp = (stamp - self._stamp) * 1e-9, stamp
        longest = MAX_GAP * self._time_constant
        if self._mean is None or elapsed < 0.0 or elapsed >= longest:
            self._mean = unit
            return
        mean = unit + np.exp(-elapsed / self._time_constant) * (self._mean - unit)
        # Opposite directions may cancel; then use the newer one.
        self._mean = mean if np.linalg.norm(mean) > 1e-3 else unit
