# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Linear equations of a recording, in blocks of time.

Both sides of the equations pass the same zero-phase filters: a wide filter for positions, their two
derivatives and efforts; then a narrow filter for the columns of the regressor and the efforts,
after which only as many rows are kept as the bandwidth requires. A row of joint i is

    scale_i effort_i = Y_i(q, v, a) phi + viscous v_i + offset + coulomb tanh(v_i / v_f)
               + stribeck tanh(v_i / v_f) exp(-(v_i / v_s)^2).

If the load of the joints is known, there is one more column, |load_i| tanh(v_i / v_f), whose load
is that after the filters. Only the
columns of base parameters are kept. A block with more rows than columns is replaced by the R factor
of its QR factorization, so the memory does not grow with the length of a recording.

Static friction of a joint at rest has any value up to its dry friction. Rows at rest are kept in
separate blocks, so that they can be weighted less (``fit``).

All coefficients but the offset are not negative. Load-dependent friction is that of [Hamon2010];
the load is the torque of bodies and rotors, the motor torque after friction, as in
``joint_friction.torque_behind_friction``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import STANDS_AFTER
from dynamics_ros.algorithms.joint_friction import STRIBECK_VELOCITY
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.joint_states.filters import LowPass, white_noise, with_velocities
from dynamics_ros.identification.joint_states.samples import JointSamples, UnusableRecordingError
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

FRICTION_VELOCITY = 0.02
"""Usual speed v_f, at which dry friction reaches 76 %; ``identify`` chooses it [rad/s]."""


def friction_columns(v: Array, speed: float, motion: Array | float) -> Array:
    """(..., nv, 4) columns of viscous friction, offset, Coulomb friction, and that at rest.

    Args:
        v: (..., nv) velocities [rad/s or m/s].
        speed: v_f [rad/s].
        motion: (nv) motion of each joint that corresponds to 1 rad [rad or m].
    """
    smooth = np.tanh(v / (speed * motion))
    fading = smooth * np.exp(-((v / (STRIBECK_VELOCITY * motion)) ** 2))
    return np.stack([v, np.ones_like(v), smooth - fading, fading], axis=-1)


MAX_KEPT = 8_000_000
"""Largest number of numbers that a maker keeps; what exceeds them is computed when it is used."""

MIN_CUTOFF, MAX_CUTOFF = 2.0, 10.0
"""Bounds of the narrow filter's cutoff [Hz]."""

CUTOFF_RATIO = 8.0
"""Ratio of the cutoff to the motion bandwidth that three quarters of the joints do not exceed."""

MIN_RATE = 200.0
"""Least rate at which regressors are computed, to resolve steps of friction [Hz]."""

MAX_BLOCKS, MIN_BLOCK_DURATION = 240, 1.0
"""Largest number of blocks of a recording; smallest duration of a block [s]."""

BLOCKS_AT_ONCE = 8
"""Number of blocks whose regressors are in memory at a time."""

STILL_SPEED = 0.005
"""Speed below which a joint counts as standing after ``STANDS_AFTER`` [rad/s]."""

NOISE_DEVIATIONS = 3.0
"""Standard deviations of velocity noise that do not count as motion."""

STANDING_SHARE = 0.1
"""Share of the narrow filter's window at rest from which a row counts as standing."""

MIN_MOVING_ROWS = 20
"""Number of rows in motion from which rows at rest are weighted less."""


def cutoff_for(stretches: Sequence[JointSamples]) -> float:
    """Cutoff of the narrow filter from the bandwidth of the motion and the sampling rate [Hz]."""
    longest = max(stretches, key=len)
    v = np.diff(longest.position, axis=0) / longest.period
    window = np.hanning(len(v))[:, np.newaxis]
    power = np.abs(np.fft.rfft((v - v.mean(axis=0)) * window, axis=0)) ** 2
    total = power.sum(axis=0)
    moved = (np.ptp(longest.position, axis=0) > 0.01) & (total > 0.0)
    share = np.cumsum(power[:, moved], axis=0) / total[moved]
    frequencies = np.fft.rfftfreq(len(v), longest.period)
    highest = [frequencies[min(int(np.searchsorted(s, 0.95)), len(s) - 1)] for s in share.T]
    usual = float(np.quantile(highest, 0.75)) if highest else 0.0
    narrow = float(np.clip(CUTOFF_RATIO * usual, MIN_CUTOFF, MAX_CUTOFF))
    return min(narrow, 0.2 / longest.period)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Filtered equations of consecutive times.

    Attributes:
        time: (n) time since the start of the recording [s].
        v: (n, nv) velocities, for friction plots [rad/s or m/s].
        inertial: (n, nv, b) columns of base parameters.
        friction: (n, nv, 5) columns of friction.
        effort: (n, nv) scaled efforts [Nm or N].
        standing: (n, nv) whether joints are at rest.
        further: (n, nv, m) additional columns, made by ``EquationMaker.further``.
    """

    time: Array
    v: Array
    inertial: Array
    friction: Array
    effort: Array
    standing: NDArray[np.bool_]
    further: Array

    def rows(self, rows: slice) -> Chunk:
        """Part of the chunk."""
        return Chunk(*(x[rows] for x in vars(self).values()))


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations of one or more recordings, with the rows of all joints side by side.

    Attributes:
        rows: (nv, r, b + 6) columns of base parameters, friction, effort.
        block: (r) block index of each row.
        begins: (blocks) start time of each block in its recording [s].
        counts: (nv, blocks) number of rows of each joint before compression.
        standing: (blocks) whether the rows of a block are those of joints at rest, or in motion.
            Rows of a joint are zero in blocks of the other kind.
    """

    rows: Array
    block: NDArray[np.int64]
    begins: Array
    counts: NDArray[np.int64]
    standing: NDArray[np.bool_]

    @property
    def rms_efforts(self) -> Array:
        """(nv) RMS of the efforts."""
        squares = (self.rows[..., -1] ** 2).sum(axis=1)
        return np.sqrt(squares / np.maximum(self.counts.sum(axis=1), 1))

    @classmethod
    def joined(cls, parts: Sequence[Equations]) -> Equations:
        """Equations of several recordings, one after another."""
        shifts = np.cumsum([0] + [len(part.begins) for part in parts[:-1]])
        return cls(
            np.concatenate([part.rows for part in parts], axis=1),
            np.concatenate([p.block + shift for p, shift in zip(parts, shifts, strict=True)]),
            np.concatenate([part.begins for part in parts]),
            np.concatenate([part.counts for part in parts], axis=1),
            np.concatenate([part.standing for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Filtered:
    """Samples of a stretch after the filters, for any friction curve, effort scale and load.

    Attributes:
        narrow: filter of both sides of the equations, from samples to rows.
        time: (n) time of the rows since the start of the recording [s].
        q, v, a: (m, nv) positions and their derivatives after the wide filter, by sample.
        inertial: (n, nv, b) columns of base parameters.
        effort: (n, nv) efforts as reported.
        standing: (n, nv) whether joints are at rest.
    """

    narrow: LowPass
    time: Array
    q: Array
    v: Array
    a: Array
    inertial: Array
    effort: Array
    standing: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Number of kept numbers."""
        return sum(x.size for x in vars(self).values() if isinstance(x, np.ndarray))


@dataclass(frozen=True, eq=False)
class EquationMaker:
    """Creates the equations of recordings of one robot.

    Attributes:
        robot: robot of the regressor.
        base: its base parameters.
        cutoff: cutoff of the narrow filter, the same for all recordings [Hz].
        wide: cutoff of the wide filter [Hz].
        scale: (nv) torque per unit of reported effort.
        friction_velocity: speed at which dry friction reaches 76 % [rad/s].
        load: (nv, b) base parameters that give the torque which each joint carries, from a previous
            fit; zero for joints without load-dependent friction. None: no such friction.
        further: function of q, v, a (n, nv each) that returns additional columns
            (n, nv, m); None: m is 0.
        store: filtered recordings, for makers with the same filters; None: none are kept.
        fused: whether fast motion comes from velocities (``with_velocities``).
    """

    robot: Robot
    base: BaseParameters
    cutoff: float
    wide: float
    scale: Array
    friction_velocity: float = FRICTION_VELOCITY
    load: Array | None = None
    further: Callable[[Array, Array, Array], Array] | None = None
    store: dict[JointSamples, list[Filtered]] | None = None
    fused: bool = True

    def chunks(self, samples: JointSamples) -> Iterator[Chunk]:
        """Filtered equations of a recording, block by block.

        Raises:
            UnusableRecordingError: it is shorter than the filters.
        """
        found = 0
        for part in self.filtered(samples):
            narrow, found = part.narrow, found + len(part.time)
            friction = friction_columns(part.v, self.friction_velocity, motion_scales(self.robot))
            friction = narrow(friction)
            load = np.zeros(part.inertial.shape[1:]) if self.load is None else self.load
            carried = np.abs(np.einsum('tjb,jb->tj', part.inertial, load))
            # Both parts of dry friction together are the direction of the motion.
            grows = carried * friction[..., 2:].sum(axis=-1)
            friction = np.concatenate([friction, grows[..., np.newaxis]], axis=-1)
            further = np.zeros((*friction.shape[:2], 0))
            if self.further is not None:
                further = narrow(self.further(part.q, part.v, part.a))
            speed = part.v[narrow.centers(len(part.v))]
            effort = part.effort * self.scale
            whole = Chunk(part.time, speed, part.inertial, friction, effort, part.standing, further)
            step = self._block(samples, narrow)
            for begin in range(0, len(part.time), step):
                yield whole.rows(slice(begin, begin + step))
        if found < 5:
            stretches = regular_stretches(samples)
            longest = max((len(one) * one.period for one in stretches), default=0.0)
            raise UnusableRecordingError(
                f'{samples.source}: {longest:.1f} s without a gap are too short'
                + (f' (of {samples.duration:.1f} s in all); ' if len(stretches) > 1 else '; ')
                + 'a minute of motion of all joints is a good recording'
            )

    def equations(self, samples: JointSamples) -> Equations:
        """Equations of a recording, compressed block by block."""
        begins: list[float] = []
        blocks, numbers, counts, still = [], [], [], []
        for chunk in self.chunks(samples):
            effort = chunk.effort[..., np.newaxis]
            whole = np.concatenate([chunk.inertial, chunk.friction, effort], axis=-1)
            for standing in (False, True):
                own = chunk.standing == standing
                some = own.any(axis=1)
                if not some.any():
                    continue
                rows = (whole[some] * own[some, :, np.newaxis]).transpose(1, 0, 2)
                if rows.shape[1] > rows.shape[2]:
                    rows = np.asarray(np.linalg.qr(rows, mode='r'))
                blocks.append(rows)
                numbers += [len(begins)] * rows.shape[1]
                begins.append(chunk.time[0])
                counts.append(own.sum(axis=0))
                still.append(standing)
        return Equations(
            np.concatenate(blocks, axis=1),
            np.array(numbers, dtype=np.int64),
            np.array(begins),
            np.array(counts, dtype=np.int64).T,
            np.array(still),
        )

    def filtered(self, samples: JointSamples) -> Iterable[Filtered]:
        """Filtered parts of a recording; computed once unless they are too large to keep."""
        if self.store is None:
            return self._filtered(samples)
        if samples not in self.store:
            kept: list[Filtered] = []
            rest = self._filtered(samples)
            room = MAX_KEPT - sum(part.size for parts in self.store.values() for part in parts)
            for part in rest:
                kept.append(part)
                room -= part.size
                if room < 0:
                    return chain(kept, rest)
            self.store[samples] = kept
        return self.store[samples]

    def _filtered(self, samples: JointSamples) -> Iterator[Filtered]:
        origin = samples.time.min()
        for stretch in regular_stretches(samples):
            every = max(1, int(1.0 / (MIN_RATE * stretch.period)))
            wide = LowPass(stretch.period, self.wide, every)
            position = stretch.position
            if self.fused:
                position = with_velocities(stretch, self.cutoff)
            states = [wide(position, derivative) for derivative in (0, 1, 2)]
            period, cutoff = stretch.period * every, self.cutoff
            standing = _standing(self.robot, stretch, wide, states[1], period)
            time = (stretch.time - origin)[wide.centers(len(stretch))]
            effort = wide(stretch.effort)
            # One row per half period of the cutoff.
            narrow = LowPass(period, cutoff, max(1, int(0.5 / (cutoff * period))))
            total = narrow.count(len(time))
            # Several blocks are filtered at once, because filter windows extend beyond a block.
            step = BLOCKS_AT_ONCE * self._block(samples, narrow)
            for first in range(0, total, step):
                last = min(total, first + step)
                begin = first * narrow.every
                taken = slice(begin, (last - 1) * narrow.every + 2 * narrow.half + 1)
                q, v, a = (x[taken] for x in states)
                yield Filtered(
                    narrow,
                    time[taken][narrow.centers(len(q))],
                    *(q, v, a),
                    narrow(self.base.columns(self.robot.regressor(q, v, a), a)),
                    narrow(effort[taken]),
                    np.abs(narrow(standing[taken].astype(np.float64))) > STANDING_SHARE,
                )

    def _block(self, samples: JointSamples, narrow: LowPass) -> int:
        """Number of rows of a block."""
        length = max(MIN_BLOCK_DURATION, samples.duration / MAX_BLOCKS)
        return max(1, round(length / (narrow.every * narrow.period)))


def _standing(
    robot: Robot, stretch: JointSamples, wide: LowPass, v: Array, period: float
) -> NDArray[np.bool_]:
    """(n, nv) whether joints are at rest, by velocities (n, nv) after a filter."""
    noise = wide.gain(1) * white_noise(stretch.position)
    slow = np.abs(v) < np.maximum(STILL_SPEED * motion_scales(robot), NOISE_DEVIATIONS * noise)
    lasting = np.ones((max(1, round(STANDS_AFTER / period)), 1), dtype=bool)
    found: NDArray[np.bool_] = scipy.ndimage.binary_opening(slow, lasting)
    return found
