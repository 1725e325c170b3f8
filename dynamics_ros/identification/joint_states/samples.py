# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states over time as arrays, and errors that make them unusable for identification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError

from .order import in_order, mixed

Array = NDArray[np.float64]

OUTLIER_RATIO, MIN_RELATIVE_OUTLIER, MAX_OUTLIER_SHARE = 5.0, 0.1, 0.02
"""Outliers: least distance from the median of five values over its 95 % quantile; the same for
efforts over their RMS; largest share of outliers."""

MIN_POSITION_OUTLIER = 0.05
"""Least size of a position outlier; no joint moves by it and back between samples [rad or m]."""


MAX_READING = 1e9
"""Bound of plausible positions, velocities and efforts in any unit."""

MAX_INVALID_SHARE = 0.1
"""Share of samples without valid velocities up to which they are dropped; else velocities are."""


class UnusableRecordingError(DynamicsRosError):
    """A recording is unusable for identification; the message gives the reason and a remedy."""


@dataclass(frozen=True, eq=False)
class JointSamples:
    """Reported joint states, one row per sample.

    Attributes:
        source: name of the recording in messages.
        joint_names: joint names of the columns.
        time: (n) stamps [s].
        position: (n, joints) [rad or m].
        velocity: (n, joints) [rad/s or m/s]; None if not recorded.
        effort: (n, joints) as reported, in any unit.
        notes: findings about the reading of the recording, one sentence each.
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
        """Time from the first to the last stamp [s]."""
        return float(self.time[-1] - self.time[0]) if len(self.time) else 0.0

    def between(self, first: float, last: float) -> JointSamples:
        """The part between two fractions of the duration, such as 0 and 0.7."""
        start, span = self.time[0], self.duration
        inside = (self.time >= start + first * span) & (self.time <= start + last * span)
        return self.rows(inside)

    def columns(self, indices: Sequence[int], names: Sequence[str]) -> JointSamples:
        """Selected joints, with other names."""
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
        """Samples in the order of time, without repeated and invalid ones.

        NaN, infinite and implausible numbers are invalid. If many velocities are invalid, all are
        dropped. Pieces with overlapping times are placed one after another.

        Raises:
            UnusableRecordingError: no sample is left, there are no efforts, all stamps are equal,
                or several motions are interleaved.
        """
        finite = np.isfinite(self.time) & _is_plausible(self.position).all(axis=1)
        if not finite.any():
            raise UnusableRecordingError(
                f'{self.source}: no sample has a stamp and positions of all joints that are numbers'
            )
        if not _is_plausible(self.effort[finite]).any() or not self.effort.any():
            raise UnusableRecordingError(
                f'{self.source}: holds no efforts; record joint states whose effort is filled '
                '(a joint_state_broadcaster needs the state interface "effort")'
            )
        finite &= _is_plausible(self.effort).all(axis=1)
        velocity = self.velocity
        if velocity is not None:
            plausible = _is_plausible(velocity).all(axis=1)
            if (finite & ~plausible).sum() > MAX_INVALID_SHARE * finite.sum():
                velocity = None
            else:
                finite &= plausible
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
                if not all(_is_plausible(one).any() for one in values)
            ]
            why = f': positions or efforts of {", ".join(never)} are no numbers' if never else ''
            raise UnusableRecordingError(
                f'{self.source}: holds no two samples with all values{why}'
            )
        return cleaned

    def without_spikes(self) -> JointSamples:
        """Samples with outliers replaced by the median of their neighbours."""
        position = np.where(self.position_spikes, _median_of_five(self.position), self.position)
        effort = np.where(self.effort_spikes, _median_of_five(self.effort), self.effort)
        return replace(self, position=position, effort=effort)

    @property
    def effort_spikes(self) -> NDArray[np.bool_]:
        """(n, joints) whether an effort is an outlier."""
        return _outliers(
            self.effort, MIN_RELATIVE_OUTLIER * np.sqrt(np.mean(self.effort**2, axis=0))
        )

    @property
    def position_spikes(self) -> NDArray[np.bool_]:
        """(n, joints) whether a position is an outlier."""
        return _outliers(self.position, MIN_POSITION_OUTLIER)

    def rows(self, rows: NDArray) -> JointSamples:
        """Selected samples, by a mask or by indices."""
        velocity = None if self.velocity is None else self.velocity[rows]
        return replace(
            self,
            time=self.time[rows],
            position=self.position[rows],
            velocity=velocity,
            effort=self.effort[rows],
        )


def _is_plausible(values: Array) -> NDArray[np.bool_]:
    """Whether values are plausible sensor readings."""
    found: NDArray[np.bool_] = np.abs(values) < MAX_READING  # False for NaN
    return found


def _median_of_five(values: Array) -> Array:
    """Median of each value and its two neighbours on both sides, along the first axis."""
    found: Array = scipy.ndimage.median_filter(values, size=(5, 1), mode='nearest')
    return found


def _outliers(values: Array, least: Array | float) -> NDArray[np.bool_]:
    """Whether values (n, joints) are far from the median of their neighbours."""
    off = np.abs(values - _median_of_five(values))
    far = off > np.maximum(OUTLIER_RATIO * np.quantile(off, 0.95, axis=0), least)
    # Frequent deviations are the behaviour of the joint, not of single messages.
    found: NDArray[np.bool_] = far & (far.mean(axis=0) <= MAX_OUTLIER_SHARE)
    return found
