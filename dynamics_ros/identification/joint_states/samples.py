# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states over time as arrays, and errors that make them unusable for identification.

A sample with an earlier stamp than its predecessor was late, and is sorted in. If stamps go back
and stay back, a new piece begins: a bag that was played in a loop, a second recording in the same
file, or a clock that was set. Sorting by time would interleave such pieces, so they are placed one
after another. Stamps that many samples share are coarse, or arrival times of bursts; their samples
are spread evenly in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.errors import DynamicsRosError

Array = NDArray[np.float64]
Part = TypeVar('Part')

MIN_EARLIER_SAMPLES = 5
"""Number of consecutive earlier samples from which a new piece begins."""

PAUSE = 2.0
"""Time between pieces that would overlap, longer than any interpolated gap [s]."""

COARSE_SHARE = 0.05
"""Share of samples with a repeated stamp and other values from which stamps count as coarse."""

MAX_STEP_RATIO = 1.5
"""Largest step between samples of one stamp, over the usual step."""


MIXED_RATIO, LAGS = 3.0, 4
"""Ratio of the distance to the next sample to the distance to the nearest of the following ones,
from which two motions are interleaved; number of samples that are compared."""


MIN_APART = 0.02
"""Least distance to the next sample, as a share of the ranges of the joints: at rest an encoder may
alternate between two steps."""

MIN_RANGE = 0.01
"""Least range of a joint for this comparison [rad], times its ``motion_scales``."""


def joined(kind: type[Part], parts: Iterable[Part]) -> Part:
    """Joins parts of recordings: a dataclass of arrays whose first axis is time."""
    return kind(*map(np.concatenate, zip(*(vars(part).values() for part in parts), strict=True)))


def in_order(time: Array, values: Array) -> tuple[NDArray[np.int64], Array, str]:
    """Order of samples, without repeated ones, and their corrected times.

    Args:
        time: (n) stamps in the order of the file, finite [s].
        values: (n, ...) sampled values, which distinguish repeated samples from coarse stamps.

    Returns:
        Indices (k), strictly increasing times (k), and a finding for the user, or ''.
    """
    if len(time) < 2 or (np.diff(time) > 0.0).all():
        return np.arange(len(time)), time, ''
    pieces = _pieces(time)
    texts = []
    if len(pieces) > 1:
        time, end = time.copy(), -np.inf
        for piece in pieces:
            if time[piece].min() <= end:
                time[piece] += end + PAUSE - time[piece].min()
            end = time[piece].max()
        texts.append(
            'stamps go back in the middle, as those of a bag that was looped or merged, or of a '
            f'clock that was set: {len(pieces)} pieces are read one after the other'
        )
    order = np.concatenate([piece[np.argsort(time[piece], kind='stable')] for piece in pieces])
    order = order[np.argsort(time[order], kind='stable')]
    order, time, shared = _spread_shared_stamps(order, time[order], values)
    if shared:
        texts.append(
            f'{100.0 * shared:.0f} % of the samples have the stamp of the one before: stamps are '
            'coarse, and samples are taken to be evenly apart'
        )
    return order, time, '; '.join(texts)


def mixed(values: Array) -> bool:
    """Whether positions (n, joints) over ``motion_scales`` alternate between two motions."""
    if len(values) < 10 * LAGS:
        return False
    span = np.ptp(values, axis=0)
    moving = values[:, span > MIN_RANGE] / span[span > MIN_RANGE]
    count = len(moving) - LAGS
    apart = [
        np.abs(moving[lag : lag + count] - moving[:count]).sum(axis=1) for lag in range(1, LAGS + 1)
    ]
    far = np.median(apart[0])
    return bool(far > MIN_APART and far > MIXED_RATIO * np.median(np.min(apart[1:], axis=0)))


def _pieces(time: Array) -> list[NDArray[np.int64]]:
    """Row indices of each piece with continuing stamps."""
    rows = np.arange(len(time))
    if np.median(np.diff(time)) < 0.0:
        # A table that begins with the newest sample.
        return [rows]
    later = np.full(len(time), -np.inf)
    for ahead in range(MIN_EARLIER_SAMPLES):
        later[1:] = np.maximum(later[1:], time[np.minimum(rows[1:] + ahead, len(time) - 1)])
    begins = 1 + np.flatnonzero(later[1:] < time[:-1])
    return [piece for piece in np.split(rows, begins) if len(piece)]


def _spread_shared_stamps(
    order: NDArray[np.int64], time: Array, values: Array
) -> tuple[NDArray[np.int64], Array, float]:
    """Order and times with samples of shared stamps spread evenly, and the share of these."""
    same = np.diff(time, prepend=-np.inf) == 0.0
    if not same.any():
        return order, time, 0.0
    flat = values.reshape(len(values), -1)[order]
    again = same & (flat == np.roll(flat, 1, axis=0)).all(axis=1)
    order, time = order[~again], time[~again]
    same = np.diff(time, prepend=-np.inf) == 0.0
    if same.mean() <= COARSE_SHARE or not np.ptp(time):
        return order[~same], time[~same], 0.0
    begins = np.flatnonzero(~same)
    sizes = np.diff(np.append(begins, len(time)))
    steps = np.diff(time[begins]) / sizes[:-1]
    usual = float(np.median(np.repeat(steps, sizes[:-1])))
    steps = np.minimum(np.append(steps, usual), MAX_STEP_RATIO * usual)
    within = np.arange(len(time)) - np.repeat(begins, sizes)
    return order, time + within * np.repeat(steps, sizes), float(same.mean())


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

    @property
    def period(self) -> float:
        """Mean time between two samples [s]."""
        return self.duration / (len(self) - 1)

    def between(self, first: float, last: float) -> JointSamples:
        """The part between two fractions of the duration, such as 0 and 0.7."""
        start, span = self.time[0], self.duration
        inside = (self.time >= start + first * span) & (self.time <= start + last * span)
        return self.rows(inside)

    def columns(self, indices: Sequence[int], names: Sequence[str]) -> JointSamples:
        """Selected joints, with other names."""
        chosen = list(indices)
        return replace(self, joint_names=tuple(names), **self._each(lambda x: x[:, chosen]))

    def cleaned(self, scales: Array | float = 1.0) -> JointSamples:
        """Samples in the order of time, without repeated and invalid ones.

        NaN, infinite and implausible numbers are invalid. If many velocities are invalid, all are
        dropped. Pieces with overlapping times are placed one after another.

        Args:
            scales: ``motion_scales`` of the joints, if the robot is known.

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
        if mixed(cleaned.position / scales):
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
        least = MIN_RELATIVE_OUTLIER * np.sqrt(np.mean(self.effort**2, axis=0))
        position = _without_outliers(self.position, MIN_POSITION_OUTLIER)
        return replace(self, position=position, effort=_without_outliers(self.effort, least))

    def rows(self, rows: NDArray) -> JointSamples:
        """Selected samples, by a mask or by indices."""
        return replace(self, time=self.time[rows], **self._each(lambda x: x[rows]))

    def _each(self, change: Callable[[Array], Array]) -> dict[str, Any]:
        """Changed positions, velocities if there are any, and efforts, by name."""
        names = ('position', 'velocity', 'effort')
        return {n: change(x) for n in names if (x := getattr(self, n)) is not None}


def _is_plausible(values: Array) -> NDArray[np.bool_]:
    """Whether values are plausible sensor readings."""
    found: NDArray[np.bool_] = np.abs(values) < MAX_READING  # False for NaN
    return found


def _without_outliers(values: Array, least: Array | float) -> Array:
    """Values (n, joints); those far from the median of five neighbours are replaced by it."""
    median = scipy.ndimage.median_filter(values, size=(5, 1), mode='nearest')
    off = np.abs(values - median)
    far = off > np.maximum(OUTLIER_RATIO * np.quantile(off, 0.95, axis=0), least)
    # Frequent deviations are the behaviour of the joint, not of single messages.
    found: Array = np.where(far & (far.mean(axis=0) <= MAX_OUTLIER_SHARE), median, values)
    return found
