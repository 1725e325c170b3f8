# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Taring of external torques: their mean without contact becomes the zero."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_count, check_positive, per_entry

from .uncertainty.thresholds import AT_REST

Vector = NDArray[np.float64]

MIN_SAMPLES = 10
"""Minimum number of samples of a mean."""

MAX_DEVIATION = 0.5
"""Standard deviation above which an external torque is too noisy for a tare [Nm or N]."""

PARTS = 10
"""Parts of the window over which velocities are averaged, so that encoder dither is not taken for
motion."""

TOUCHED = (
    'external torque of {} Nm or N; the calibrated model leaves at most {} unexplained: something '
    'touches the robot, or it carries an unknown payload'
)

FULL_WINDOW = 0.9
"""Share of the window that the samples must span; a few late or lost ones are tolerated."""


class TareResult(NamedTuple):
    """Result of a tare.

    Attributes:
        reason: '' if the offset was replaced, else 'too_few_samples', 'moving', 'noisy', 'touched'.
        message: the reason with its numbers, as text.
        samples: number of averaged samples.
        duration: time that they span [s].
        joint: index in v of the joint that the reason applies to; None if it applies to none.
    """

    reason: str
    message: str
    samples: int
    duration: float
    joint: int | None = None

    @property
    def success(self) -> bool:
        """Whether the offset was replaced."""
        return not self.reason


class Tare:
    """Offset of the external torque: its mean over the last time window, set on request.

    The offset is valid at the posture of the tare; errors of the model change it with the posture.

    Attributes:
        offset: (nv) offset to subtract from the external torque, never modified in place [Nm or N].
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
        self._window = round(window * 1e9)
        self._max_velocity = per_entry('max_velocity', max_velocity, size)
        if not np.all(self._max_velocity > 0.0):
            expected = 'positive numbers'
            raise InvalidArgumentError('max_velocity', f'{max_velocity!r}', expected)
        self._samples: deque[tuple[int, Vector, Vector]] = deque()
        self.offset: Vector = np.zeros(size)

    def add(self, stamp: int, torque: Vector, velocity: Vector) -> None:
        """Stores a sample.

        Args:
            stamp: ns; a backward jump clears the stored samples.
            torque: (nv) external torque before taring [Nm or N].
            velocity: (nv). Both must be finite, and must not be modified afterwards.
        """
        samples = self._samples
        if samples and stamp < samples[-1][0]:
            samples.clear()
        samples.append((stamp, torque, velocity))
        while stamp - samples[0][0] > self._window:
            samples.popleft()

    def take(self, explained: Vector | None = None) -> TareResult:
        """Sets the offset to the mean of the last window if the robot was still and unloaded.

        Args:
            explained: (nv) largest torques at rest that a calibration attributes to errors of the
                model [Nm or N]; a larger mean is a contact and refused. None if unknown.
        """
        samples, window = self._samples, self._window * 1e-9
        count = len(samples)
        duration = (samples[-1][0] - samples[0][0]) * 1e-9 if count else 0.0
        if count < MIN_SAMPLES or duration < FULL_WINDOW * window:
            message = (
                f'{count} samples over {duration:.2f} s; '
                f'at least {MIN_SAMPLES} over {window:.2f} s are needed'
            )
            return TareResult('too_few_samples', message, count, duration)
        torques, velocities = (np.array([sample[i] for sample in samples]) for i in (1, 2))
        parts = np.array_split(velocities, PARTS)
        speeds = np.abs([part.mean(axis=0) for part in parts]).max(axis=0)
        deviation, mean = torques.std(axis=0), torques.mean(axis=0)
        most = np.full(len(mean), np.inf) if explained is None else explained
        for reason, value, limit, message in (
            ('moving', speeds, self._max_velocity, 'moved at {} rad/s or m/s; at most {}'),
            ('noisy', deviation, MAX_DEVIATION, 'standard deviation of {} Nm; at most {}'),
            ('touched', mean, most, TOUCHED),
        ):
            ratio = np.abs(value) / limit
            joint = int(ratio.argmax())
            if ratio[joint] > 1.0:
                bound = np.broadcast_to(limit, mean.shape)[joint]
                text = message.format(f'{value[joint]:.3g}', f'{bound:.3g}')
                return TareResult(reason, text, count, duration, joint)
        self.offset = mean
        return TareResult('', f'averaged {count} samples over {duration:.2f} s', count, duration)

    def clear(self) -> None:
        """Sets the offset to zero."""
        self.offset = np.zeros_like(self.offset)

    def restart(self) -> None:
        """Clears the samples, as after a restart of the observer or a change of payload."""
        self._samples.clear()
