# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Taring of external torques: their mean without contact becomes the zero."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import (
    check_count,
    check_positive,
    per_entry,
)

from .uncertainty.thresholds import AT_REST

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

MIN_SAMPLES = 10
"""Minimum number of samples of a mean."""

MAX_DEVIATION = 0.5
"""Standard deviation above which an external torque is too noisy for a tare [Nm or N]."""

AVERAGING_TIME = 100_000_000
"""Time over which velocities are averaged, so that encoder dither is not taken for motion [ns]."""

TOUCHED = (
    'external torque of {} Nm or N; the calibrated model leaves at most {} unexplained: something '
    'touches the robot, or it carries an unknown payload'
)

FULL_WINDOW = 0.9
"""Share of the window that the samples must span; a few late or lost ones are tolerated."""


@dataclass(frozen=True, eq=False)
class TareResult:
    """Result of a tare.

    Attributes:
        success: whether the offset was replaced.
        reason: '', or 'too_few_samples', 'moving', 'noisy', 'touched'.
        message: the reason with its numbers, as text.
        offset: (nv) offset after the tare [Nm or N].
        samples: number of averaged samples.
        duration: time that they span [s].
        joint: index in v of the joint that the reason applies to; None if it applies to none.
    """

    success: bool
    reason: str
    message: str
    offset: Vector
    samples: int
    duration: float
    joint: int | None = None


class Tare:
    """Offset of the external torque: its mean over the last time window, set on request.

    The offset is valid at the posture of the tare; errors of the model change it with the posture.
    """

    def __init__(
        self,
        size: int,
        *,
        window: float = 1.0,
        max_velocity: ArrayLike = AT_REST,
    ) -> None:
        """Creates a tare with offset zero.

        Args:
            size: nv.
            window: averaging time [s].
            max_velocity: speed above which a joint counts as moving, number or (nv) [rad/s or m/s].

        Raises:
            InvalidArgumentError: a value is not positive.
        """
        check_count('size', size, least=1)
        check_positive('window', window)
        self._size = size
        self._window = round(window * 1e9)
        self._max_velocity = per_entry('max_velocity', max_velocity, size)
        if not np.all(self._max_velocity > 0.0):
            expected = 'positive numbers'
            raise InvalidArgumentError('max_velocity', f'{max_velocity!r}', expected)
        # Per call: last stamp, all stamps, torques, velocities.
        self._samples: deque[tuple[int, Any, Vector, Vector]] = deque()
        self._last = 0
        self._offset = _read_only(np.zeros(size))

    @property
    def offset(self) -> Vector:
        """(nv) offset to subtract from the external torque, read-only [Nm or N]."""
        return self._offset

    def add(self, stamp: int | Stamps, torque: Vector, velocity: Vector) -> None:
        """Stores one sample, or several with a leading axis.

        Args:
            stamp: ns; a backward jump clears the stored samples.
            torque: (nv) external torque before taring [Nm or N].
            velocity: (nv). Both must be finite, and must not be modified afterwards.
        """
        if isinstance(stamp, int):
            first = last = stamp
        else:
            first, last = int(stamp[0]), int(stamp[-1])
        if first < self._last:
            self.restart()
        samples, self._last = self._samples, last
        samples.append((last, stamp, torque, velocity))
        while last - samples[0][0] > self._window:
            samples.popleft()

    def take(self, explained: Vector | None = None) -> TareResult:
        """Sets the offset to the mean of the last window if the robot was still and unloaded.

        Args:
            explained: (nv) largest torques at rest that a calibration attributes to errors of the
                model [Nm or N]; a larger mean is a contact and refused. None if unknown.
        """
        stamps, torques, velocities = self._window_samples()
        count, window = len(stamps), self._window * 1e-9
        duration = float(stamps[-1] - stamps[0]) * 1e-9 if count else 0.0
        if count < MIN_SAMPLES or duration < FULL_WINDOW * window:
            message = (
                f'{count} samples over {duration:.2f} s; '
                f'at least {MIN_SAMPLES} over {window:.2f} s are needed'
            )
            return TareResult(False, 'too_few_samples', message, self.offset, count, duration)
        speeds = np.abs(_averaged(stamps, velocities)).max(axis=0)
        deviation, mean = torques.std(axis=0), torques.mean(axis=0)
        most = np.full(self._size, np.inf) if explained is None else explained
        for reason, value, limit, message in (
            ('moving', speeds, self._max_velocity, 'moved at {} rad/s or m/s; at most {}'),
            ('noisy', deviation, MAX_DEVIATION, 'standard deviation of {} Nm; at most {}'),
            ('touched', mean, most, TOUCHED),
        ):
            ratio = np.abs(value) / limit
            joint = int(ratio.argmax())
            if ratio[joint] > 1.0:
                bound = np.broadcast_to(limit, self._size)[joint]
                text = message.format(f'{value[joint]:.3g}', f'{bound:.3g}')
                return TareResult(False, reason, text, self.offset, count, duration, joint)
        self._offset = _read_only(mean)
        message = f'averaged {count} samples over {duration:.2f} s'
        return TareResult(True, '', message, self.offset, count, duration)

    def clear(self) -> None:
        """Sets the offset to zero."""
        self._offset = _read_only(np.zeros(self._size))

    def restart(self) -> None:
        """Clears the samples, as after a restart of the observer or a change of payload."""
        self._samples.clear()
        self._last = 0

    def _window_samples(self) -> tuple[Stamps, Vector, Vector]:
        """Returns stamps (n), torques and velocities (n, nv) of the last window."""
        stamps, torques = np.zeros(0, dtype=np.int64), np.zeros((0, self._size))
        velocities = torques
        if self._samples:
            _, *parts = zip(*self._samples, strict=True)
            stamps = np.concatenate([np.atleast_1d(x) for x in parts[0]])
            torques, velocities = (np.vstack(x) for x in parts[1:])
        inside = stamps >= stamps[-1:] - self._window
        return stamps[inside], torques[inside], velocities[inside]


def _averaged(stamps: Stamps, velocities: Vector) -> Vector:
    """Averages velocities (n, nv) over ``AVERAGING_TIME``; the last interval is never shorter."""
    since = stamps - stamps[0]
    part = np.minimum(since // AVERAGING_TIME, max(int(since[-1]) // AVERAGING_TIME - 1, 0))
    _, first, counts = np.unique(part, return_index=True, return_counts=True)
    found: Vector = np.add.reduceat(velocities, first, axis=0) / counts[:, np.newaxis]
    return found


def _read_only(vector: Vector) -> Vector:
    vector.flags.writeable = False
    return vector
