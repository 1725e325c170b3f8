# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Taring: what the observer feels in a moment without contact becomes the zero."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.multibody.arguments import check_count, check_positive, finite_vector

Vector = NDArray[np.float64]

FEWEST_SAMPLES = 10
"""An average of fewer says too little about noise."""

FULL_WINDOW = 0.9
"""Share of the window that samples have to span: a few late or dropped ones do not matter."""


@dataclass(frozen=True, eq=False)
class TareResult:
    """What became of a tare.

    Attributes:
        success: whether the offset was replaced.
        reason: '', or 'too_few_samples', 'moving', 'noisy'.
        message: the reason with its numbers, for a person.
        offset: (nv) in force afterwards [Nm or N].
        samples: how many were averaged.
        duration: s that they span.
    """

    success: bool
    reason: str
    message: str
    offset: Vector
    samples: int
    duration: float


class Tare:
    """Offset of the external torque, averaged over the last moments when it is asked for.

    The offset is right at the posture where it was taken; a wrong model moves it with the posture.
    """

    def __init__(
        self,
        size: int,
        *,
        window: float = 1.0,
        max_velocity: float = 0.02,
        max_deviation: float = 0.5,
    ) -> None:
        """Make a tare with offset zero.

        Args:
            size: nv.
            window: s to average over.
            max_velocity: a joint faster than this was moving [rad/s or m/s].
            max_deviation: a torque whose standard deviation is larger was noisy [Nm or N].

        Raises:
            InvalidArgumentError: a value is not positive.
        """
        check_count('size', size, least=1)
        check_positive('window', window)
        check_positive('max_velocity', max_velocity)
        check_positive('max_deviation', max_deviation)
        self._size = size
        self._window = round(window * 1e9)
        self._max_velocity = max_velocity
        self._max_deviation = max_deviation
        self._samples: deque[tuple[int, Vector, Vector]] = deque()
        self._offset = _unchanging(np.zeros(size))
        self._history: list[Vector] = []

    @property
    def offset(self) -> Vector:
        """(nv) to be subtracted from the external torque, read-only [Nm or N]."""
        return self._offset

    def add(self, stamp: int, external_torque: ArrayLike, v: ArrayLike) -> None:
        """Remember a sample.

        Args:
            stamp: ns; a jump backwards forgets what was remembered.
            external_torque: (nv) before taring [Nm or N].
            v: (nv) velocity.

        Raises:
            InvalidArgumentError: a wrong shape or NaN.
        """
        torque = finite_vector('external_torque', external_torque, self._size).copy()
        velocity = finite_vector('v', v, self._size).copy()
        self.add_finite(stamp, torque, velocity)

    def add_finite(self, stamp: int, torque: Vector, velocity: Vector) -> None:
        """The same of vectors that are known to be finite, and that nobody writes into later."""
        samples = self._samples
        if samples and stamp < samples[-1][0]:
            self.restart()
        samples.append((stamp, torque, velocity))
        while stamp - samples[0][0] > self._window:
            samples.popleft()

    def take(self) -> TareResult:
        """Make the mean of the last window the offset, unless the robot moved or it was noisy."""
        duration = 0.0
        if self._samples:
            duration = (self._samples[-1][0] - self._samples[0][0]) * 1e-9
        if len(self._samples) < FEWEST_SAMPLES or duration < FULL_WINDOW * self._window * 1e-9:
            return self._refused(
                'too_few_samples',
                f'{len(self._samples)} samples over {duration:.2f} s; '
                f'at least {FEWEST_SAMPLES} over {self._window * 1e-9:.2f} s are needed',
                duration,
            )
        fastest = float(np.abs([velocity for _, _, velocity in self._samples]).max())
        if fastest > self._max_velocity:
            limit = f'at most {self._max_velocity:g}'
            return self._refused('moving', f'moved at {fastest:.3g} rad/s; {limit}', duration)
        torques = np.stack([torque for _, torque, _ in self._samples])
        deviation = float(torques.std(axis=0).max())
        if deviation > self._max_deviation:
            limit = f'at most {self._max_deviation:g}'
            return self._refused(
                'noisy', f'standard deviation of {deviation:.3g} Nm; {limit}', duration
            )
        self._history.append(self._offset)
        self._offset = _unchanging(torques.mean(axis=0))
        message = f'averaged {len(self._samples)} samples over {duration:.2f} s'
        return TareResult(True, '', message, self.offset, len(self._samples), duration)

    def undo(self) -> bool:
        """Go back to the offset before the last tare; False when there is none."""
        if not self._history:
            return False
        self._offset = self._history.pop()
        return True

    def clear(self) -> None:
        """Offset zero and nothing to undo."""
        self._offset = _unchanging(np.zeros(self._size))
        self._history.clear()

    def restart(self) -> None:
        """Forget the samples, e.g. after a start of the observer or another payload."""
        self._samples.clear()

    def _refused(self, reason: str, message: str, duration: float) -> TareResult:
        return TareResult(False, reason, message, self.offset, len(self._samples), duration)


def _unchanging(vector: Vector) -> Vector:
    vector.flags.writeable = False
    return vector
