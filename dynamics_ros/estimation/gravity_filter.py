# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which way gravity points, for a robot on a base that tilts, from a noisy source."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.multibody.arguments import check_not_negative, check_positive, finite_vector

Array = NDArray[np.float64]

MAX_GAP = 5.0
"""In time constants: after a longer gap the filter begins anew."""

AT_REST = 0.1
"""Part of gravity that a specific force may differ by; more, and the base is being accelerated."""


class GravityFilter:
    """A first-order low-pass over directions, exact for any interval between samples.

    Attributes:
        magnitude: of gravity, which no source is asked for [m/s^2].
    """

    def __init__(self, magnitude: float, time_constant: float) -> None:
        """Begin without a direction.

        Args:
            magnitude: of gravity [m/s^2].
            time_constant: s; 0 takes every sample as it is.

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
        """(3) gravity in the axes of the samples [m/s^2]; None before the first."""
        if self._mean is None:
            return None
        gravity: Array = self.magnitude / np.linalg.norm(self._mean) * self._mean
        return gravity

    def add_specific_force(self, stamp: int, force: ArrayLike) -> bool:
        """Take in what an accelerometer reads: at rest, gravity with the sign changed.

        Args:
            stamp: ns.
            force: (3) [m/s^2].

        Returns:
            False for a sample of an accelerated base, which is left out.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        reading = finite_vector('force', force, 3)
        if abs(np.linalg.norm(reading) / self.magnitude - 1.0) > AT_REST:
            return False
        self.add(stamp, -reading)
        return True

    def add(self, stamp: int, direction: ArrayLike) -> None:
        """Take in a direction (3) of any length but zero, with its stamp [ns].

        Raises:
            InvalidArgumentError: a wrong shape, NaN, or no length.
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
        # Opposite directions may cancel; then the newer one counts.
        self._mean = mean if np.linalg.norm(mean) > 1e-3 else unit
