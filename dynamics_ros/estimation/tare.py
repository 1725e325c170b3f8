# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Taring: what the observer feels in a moment without contact becomes the zero."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.multibody.arguments import check_count, check_positive, finite_vector

Vector = NDArray[np.float64]
Stamps = NDArray[np.int64]

FEWEST_SAMPLES = 10
"""An average of fewer says too little about noise."""

STEADY = 100_000_000
"""ns over which velocities are averaged: those of an encoder that dithers are no motion."""

FULL_WINDOW = 0.9
"""Share of the window that samples have to span: a few late or dropped ones do not matter."""


@dataclass(frozen=True, eq=False)
class TareResult:
    """What became of a tare.

    Attributes:
        success: whether the offset was replaced.
        reason: '', or 'too_few_samples', 'moving', 'noisy', 'touched'.
        message: the reason with its numbers, for a person.
        offset: (nv) in force afterwards [Nm or N].
        samples: how many were averaged.
        duration: s that they span.
        joint: index in v of the joint that the reason is about; None where it is about none.
    """

    success: bool
    reason: str
    message: str
    offset: Vector
    samples: int
    duration: float
    joint: int | None = None


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
        self._tidy_after = self._window // 8
        self._max_velocity = max_velocity
        self._max_deviation = max_deviation
        # The last stamp of what came together, all stamps of that, torques and velocities.
        self._samples: deque[tuple[int, Any, Vector, Vector]] = deque()
        self._last = self._tidied = 0
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

    def add_finite(self, stamp: int | Stamps, torque: Vector, velocity: Vector) -> None:
        """The same of vectors that are known to be finite, and that nobody writes into later.

        With a leading axis of several samples, or without one.
        """
        if isinstance(stamp, int):
            first = last = stamp
        else:
            first, last = int(stamp[0]), int(stamp[-1])
        if first < self._last:
            self.restart()
        samples, self._last = self._samples, last
        samples.append((last, stamp, torque, velocity))
        if last - self._tidied > self._tidy_after:
            self._tidied = last
            while last - samples[0][0] > self._window:
                samples.popleft()

    def take(self, explained: Vector | None = None) -> TareResult:
        """Make the mean of the last window the offset, unless the robot moved or it was noisy.

        Args:
            explained: (nv) largest torques at rest that the model leaves unexplained where nothing
                touches the robot, as a calibration tells them; what is larger is a touch, and
                refused. None: not known [Nm or N].
        """
        stamps, torques, velocities = self._window_samples()
        count = len(stamps)
        duration = float(stamps[-1] - stamps[0]) * 1e-9 if count else 0.0
        if count < FEWEST_SAMPLES or duration < FULL_WINDOW * self._window * 1e-9:
            return self._refused(
                'too_few_samples',
                f'{count} samples over {duration:.2f} s; '
                f'at least {FEWEST_SAMPLES} over {self._window * 1e-9:.2f} s are needed',
                duration,
            )
        fastest = np.abs(_steady(stamps, velocities)).max(axis=0)
        joint = int(fastest.argmax())
        if fastest[joint] > self._max_velocity:
            message = f'moved at {fastest[joint]:.3g} rad/s; at most {self._max_velocity:g}'
            return self._refused('moving', message, duration, joint)
        deviation = torques.std(axis=0)
        joint = int(deviation.argmax())
        if deviation[joint] > self._max_deviation:
            limit = f'at most {self._max_deviation:g}'
            message = f'standard deviation of {deviation[joint]:.3g} Nm; {limit}'
            return self._refused('noisy', message, duration, joint)
        mean = torques.mean(axis=0)
        if explained is not None:
            excess = np.abs(mean) - explained
            joint = int(excess.argmax())
            if excess[joint] > 0.0:
                message = (
                    f'{mean[joint]:.3g} Nm or N are felt, where the calibrated model leaves '
                    f'at most {explained[joint]:.3g} unexplained: something touches the robot, or '
                    'it carries what it is not told of'
                )
                return self._refused('touched', message, duration, joint)
        self._history.append(self._offset)
        self._offset = _unchanging(mean)
        message = f'averaged {count} samples over {duration:.2f} s'
        return TareResult(True, '', message, self.offset, count, duration)

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
        self._last = self._tidied = 0

    def _refused(
        self, reason: str, message: str, duration: float, joint: int | None = None
    ) -> TareResult:
        count = len(self._window_samples()[0])
        return TareResult(False, reason, message, self.offset, count, duration, joint)

    def _window_samples(self) -> tuple[Stamps, Vector, Vector]:
        """Stamps (n), torques and velocities (n, nv) of the last window."""
        stamps, torques = np.zeros(0, dtype=np.int64), np.zeros((0, self._size))
        velocities = torques
        if self._samples:
            _, *parts = zip(*self._samples, strict=True)
            stamps = np.concatenate([np.atleast_1d(x) for x in parts[0]])
            torques, velocities = (np.vstack(x) for x in parts[1:])
        inside = stamps >= stamps[-1:] - self._window
        return stamps[inside], torques[inside], velocities[inside]


def _steady(stamps: Stamps, velocities: Vector) -> Vector:
    """(m, nv) means of velocities (n, nv) over each ``STEADY``; the last is never shorter."""
    since = stamps - stamps[0]
    part = np.minimum(since // STEADY, max(int(since[-1]) // STEADY - 1, 0))
    _, first, counts = np.unique(part, return_index=True, return_counts=True)
    found: Vector = np.add.reduceat(velocities, first, axis=0) / counts[:, np.newaxis]
    return found


def _unchanging(vector: Vector) -> Vector:
    vector.flags.writeable = False
    return vector
