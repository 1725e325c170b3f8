# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states over time as plain arrays, and what makes them unusable for identification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError

from .order import in_order, mixed

Array = NDArray[np.float64]

SPIKE, SLIGHT, RARE = 5.0, 0.1, 0.02
"""A spike differs from the median of five neighbours by so many times what 95 % of the values
differ by, and by this part of the RMS of all; and no more than a share of the values are spikes."""

JUMP = 0.05
"""rad or m that a spike of positions has at least: none moves there and back between samples."""


MOST = 1e9
"""Of any unit of positions, velocities and efforts: what is beyond is no reading."""

FEW = 0.1
"""Share of the samples that are left out for their velocities; else there are none of use."""


class UnusableRecordingError(DynamicsRosError):
    """A recording that a robot cannot be identified from; the text says why and what would help."""


@dataclass(frozen=True, eq=False)
class JointSamples:
    """What the joints of a robot reported, one row a sample.

    Attributes:
        source: name of the recording, for messages.
        joint_names: of the columns.
        time: (n) stamps [s].
        position: (n, joints) [rad or m].
        velocity: (n, joints) [rad/s or m/s]; None where it was not recorded.
        effort: (n, joints) as reported [Nm or N, or what the driver calls effort].
        notes: what a user should know of how they were read, one sentence each.
    """

    source: str
    joint_names: tuple[str, ...]
    time: Array
    position: Array
    velocity: Array | None
    effort: Array
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.time), len(self.joint_names))
        for name in ('position', 'velocity', 'effort'):
            values = getattr(self, name)
            if values is not None and values.shape != shape:
                raise UnusableRecordingError(
                    f'{self.source}: {name} has the shape {values.shape} where {len(self.time)} '
                    f'stamps of {len(self.joint_names)} joints need {shape}'
                )

    def __len__(self) -> int:
        return len(self.time)

    @property
    def duration(self) -> float:
        """From the first stamp to the last [s]."""
        return float(self.time[-1] - self.time[0]) if len(self.time) else 0.0

    def between(self, first: float, last: float) -> JointSamples:
        """The part between two shares of the duration, such as 0 and 0.7."""
        start, span = self.time[0], self.duration
        inside = (self.time >= start + first * span) & (self.time <= start + last * span)
        return self.rows(inside)

    def columns(self, indices: Sequence[int], names: Sequence[str]) -> JointSamples:
        """Some joints, under other names."""
        chosen = list(indices)
        velocity = None if self.velocity is None else self.velocity[:, chosen]
        return replace(
            self,
            joint_names=tuple(names),
            position=self.position[:, chosen],
            velocity=velocity,
            effort=self.effort[:, chosen],
        )

    def cleaned(self) -> JointSamples:
        """The samples in the order of time, without those that are repeated or hold no numbers.

        No numbers are NaN, infinity, and what no sensor reads. Where these are in many of the
        velocities, none were recorded. Of pieces whose times overlap, later ones follow the others.

        Raises:
            UnusableRecordingError: none is left, none has efforts, all have the same stamp, or they
                are of several motions at once.
        """
        finite = np.isfinite(self.time) & _readings(self.position).all(axis=1)
        if not finite.any():
            raise UnusableRecordingError(
                f'{self.source}: no sample has a stamp and positions of all joints that are numbers'
            )
        if not _readings(self.effort[finite]).any() or not self.effort.any():
            raise UnusableRecordingError(
                f'{self.source}: holds no efforts; record joint states whose effort is filled '
                '(a joint_state_broadcaster needs the state interface "effort")'
            )
        finite &= _readings(self.effort).all(axis=1)
        velocity = self.velocity
        if velocity is not None:
            told = _readings(velocity).all(axis=1)
            if (finite & ~told).sum() > FEW * finite.sum():
                velocity = None
            else:
                finite &= told
        whole = replace(self, velocity=velocity).rows(finite)
        order, time, note = in_order(whole.time, np.column_stack([whole.position, whole.effort]))
        notes = (*self.notes, f'{self.source}: {note}') if note else self.notes
        cleaned = replace(whole.rows(order), time=time, notes=notes)
        if len(whole) > 1 and np.ptp(whole.time) == 0.0:
            raise UnusableRecordingError(
                f'{self.source}: all {len(whole)} samples have the same stamp, '
                f'{whole.time[0]:.10g} s; seconds since 1970 take numbers of 64 bits'
            )
        if mixed(cleaned.position):
            raise UnusableRecordingError(
                f'{self.source}: positions jump to and fro from sample to sample: two motions are '
                'mixed, as of two publishers or of recordings that were merged by time; separate '
                'them first'
            )
        if len(cleaned) < 2:
            never = [
                name
                for name, *values in zip(self.joint_names, self.position.T, self.effort.T)
                if not all(_readings(one).any() for one in values)
            ]
            why = f': positions or efforts of {", ".join(never)} are no numbers' if never else ''
            raise UnusableRecordingError(
                f'{self.source}: holds no two samples with all values{why}'
            )
        return cleaned

    def without_spikes(self) -> JointSamples:
        """With the median of their neighbours in place of spikes of one or two samples."""
        position = np.where(self.position_spikes, _median(self.position), self.position)
        effort = np.where(self.effort_spikes, _median(self.effort), self.effort)
        return replace(self, position=position, effort=effort)

    @property
    def effort_spikes(self) -> NDArray[np.bool_]:
        """(n, joints) efforts that are far off those before and after."""
        return _spikes(self.effort, SLIGHT * np.sqrt(np.mean(self.effort**2, axis=0)))

    @property
    def position_spikes(self) -> NDArray[np.bool_]:
        """(n, joints) positions that are far off those before and after."""
        return _spikes(self.position, JUMP)

    def rows(self, rows: NDArray) -> JointSamples:
        """Some samples, by a mask or by indices."""
        velocity = None if self.velocity is None else self.velocity[rows]
        return replace(
            self,
            time=self.time[rows],
            position=self.position[rows],
            velocity=velocity,
            effort=self.effort[rows],
        )


def _readings(values: Array) -> NDArray[np.bool_]:
    """Which values a sensor may have read."""
    found: NDArray[np.bool_] = np.abs(values) < MOST  # not so for NaN
    return found


def _median(values: Array) -> Array:
    """Of each value and two on both sides, along the first axis."""
    found: Array = scipy.ndimage.median_filter(values, size=(5, 1), mode='nearest')
    return found


def _spikes(values: Array, least: Array | float) -> NDArray[np.bool_]:
    """Which of (n, joints) are far from the median of their neighbours."""
    off = np.abs(values - _median(values))
    far = off > np.maximum(SPIKE * np.quantile(off, 0.95, axis=0), least)
    # What occurs all the time is how the joint is, not how a message was.
    found: NDArray[np.bool_] = far & (far.mean(axis=0) <= RARE)
    return found
