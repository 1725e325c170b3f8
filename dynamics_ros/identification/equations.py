# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The linear equations that a recording gives, in blocks of time.

Both sides pass the same zero-phase filters: positions, their two derivatives and efforts a wide
one; the columns of the regressor, made of those, and the efforts a narrow one, which leaves as many
rows as the motion has to say. A row of joint i reads

    scale_i effort_i = Y_i(q, v, a) phi + viscous v_i + offset + coulomb tanh(v_i / v_f)
               + stribeck tanh(v_i / v_f) exp(-(v_i / v_s)^2),

for several v_f and v_s, so that what they are is chosen afterwards. Where the load of the joints is
known (``Load``), there is one more column, |load_i| tanh(v_i / v_f). Only the columns of base
parameters are kept. A block of more rows than columns is replaced by the R factor of its QR
factorization, so that an hour takes no more memory than a minute.

What holds a joint that stands still is friction of any size up to its dry friction. Rows of such
times are kept in blocks of their own, so that they can count less (``fit``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import STANDS_AFTER
from dynamics_ros.robot import Robot

from .bodies.base_parameters import BaseParameters, with_rotors
from .joint_states.clock import Stretch, regular_stretches
from .joint_states.filters import LowPass
from .joint_states.samples import JointSamples, UnusableRecordingError
from .joint_states.velocities import with_velocities

Array = NDArray[np.float64]

LOWEST, HIGHEST = 2.0, 10.0
"""Hz: bounds of the narrow filter's cutoff."""

HARMONICS = 8.0
"""The cutoff over the frequency that three quarters of the joints stay below."""

FINE_RATE = 200.0
"""Hz: regressors are computed as often at least, so that steps of friction are met in time."""

MOST_BLOCKS, SHORTEST_BLOCK = 240, 1.0
"""Of a recording; s."""

BLOCKS_AT_ONCE = 8
"""Blocks whose regressors are held at a time."""

STILL_SPEED = 0.005
"""rad/s or m/s: a joint that stays slower for ``STANDS_AFTER`` stands still."""

FAR = 3.0
"""Deviations of the noise of velocities that are no motion."""

STANDING = 0.1
"""Share of the narrow filter's window: a row with more of a joint at rest tells little of it."""

LEAST = 20
"""Rows of a joint in motion from which on those at rest may count less."""

FRICTION_VELOCITIES = (0.02, 0.005, 0.0063, 0.008, 0.01, 0.0125, 0.016, 0.025, 0.032, 0.04, 0.05)
"""rad/s or m/s that are tried for v_f."""

STRIBECK_VELOCITIES = (0.1, 0.2, 0.4, 1.0)
"""rad/s or m/s that are tried for v_s."""


@dataclass(frozen=True)
class FrictionShape:
    """Speeds that fix the shape of a friction curve [rad/s or m/s]; no Stribeck term without v_s.

    Attributes:
        velocity: v_f, at which dry friction has reached 76 %.
        stribeck_velocity: v_s, at which the Stribeck term has faded to 37 %.
        loads: usual torque of each joint whose friction grows with it, 0 of others [Nm or N]; empty
            where equations have no column of the load.
    """

    velocity: float
    stribeck_velocity: float | None
    loads: tuple[float, ...] = ()

    def unknowns(self) -> Array:
        """(k, 3 to 5) columns of the unknowns among ``friction_columns``.

        Viscous, offset, Coulomb, and where there is a Stribeck term the dry friction at rest, so
        that each but the offset is positive. With a load all five, unused ones zero, and k is
        larger by one.
        """
        first = 2 + FRICTION_VELOCITIES.index(self.velocity) * (1 + len(STRIBECK_VELOCITIES))
        count = 2 + len(FRICTION_VELOCITIES) * (1 + len(STRIBECK_VELOCITIES))
        columns = np.eye(count)[:, [0, 1, first]]
        if self.stribeck_velocity is not None:
            fading = np.eye(count)[:, first + 1 + STRIBECK_VELOCITIES.index(self.stribeck_velocity)]
            columns[:, 2] -= fading
            columns = np.column_stack([columns, fading])
        if not self.loads:
            return columns
        with_load = np.zeros((count + 1, 5))
        with_load[:count, : columns.shape[1]] = columns
        with_load[count, 4] = 1.0
        return with_load


SIMPLEST = FrictionShape(FRICTION_VELOCITIES[0], None)


def friction_columns(v: Array) -> Array:
    """(..., k) the columns of all shapes at velocities (...)."""
    columns = [v, np.ones_like(v)]
    for velocity in FRICTION_VELOCITIES:
        smooth = np.tanh(v / velocity)
        columns.append(smooth)
        columns += [smooth * np.exp(-((v / faded) ** 2)) for faded in STRIBECK_VELOCITIES]
    return np.stack(columns, axis=-1)


@dataclass(frozen=True, eq=False)
class Load:
    """The torque that joints transmit, which their friction may grow with ([Hamon2010]).

    It is that of bodies and rotors: what is left of the motor's torque behind friction, as
    ``joint_friction.torque_behind_friction`` has it.

    Attributes:
        base: (b) base parameters of the robot, as an identification before found them.
        velocity: v_f [rad/s or m/s].
        joints: (nv) whose friction may grow with it.
    """

    base: Array
    velocity: float
    joints: NDArray[np.bool_]

    def column(self, Y: Array, v: Array) -> Array:
        """(n, nv) |load| tanh(v / v_f), of regressors (n, nv, b) and velocities (n, nv)."""
        found: Array = np.abs(Y @ self.base) * np.tanh(v / self.velocity) * self.joints
        return found


@dataclass(frozen=True)
class Filtering:
    """The filters that all recordings of one identification pass.

    Attributes:
        narrow: cutoff of what both sides of the equations pass [Hz].
        wide: cutoff of what positions, velocities, accelerations and efforts pass before [Hz].
    """

    narrow: float
    wide: float

    @classmethod
    def for_motion(cls, stretches: Sequence[Stretch]) -> Filtering:
        """From how fast the motion is and how often it was sampled."""
        longest = max(stretches, key=len)
        rate = 1.0 / longest.period
        v = np.diff(longest.position, axis=0) / longest.period
        window = np.hanning(len(v))[:, np.newaxis]
        power = np.abs(np.fft.rfft((v - v.mean(axis=0)) * window, axis=0)) ** 2
        total = power.sum(axis=0)
        moved = (np.ptp(longest.position, axis=0) > 0.01) & (total > 0.0)
        share = np.cumsum(power[:, moved], axis=0) / total[moved]
        frequencies = np.fft.rfftfreq(len(v), longest.period)
        highest = [frequencies[min(int(np.searchsorted(s, 0.95)), len(s) - 1)] for s in share.T]
        usual = float(np.quantile(highest, 0.75)) if highest else 0.0
        narrow = float(np.clip(HARMONICS * usual, LOWEST, HIGHEST))
        narrow = min(narrow, 0.2 * rate)
        return cls(narrow, min(2.0 * narrow, 0.42 * rate))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Filtered equations of consecutive times.

    Attributes:
        time: (n) since the start of the recording [s].
        v: (n, nv) velocity, which friction is drawn over.
        inertial: (n, nv, b) columns of base parameters.
        friction: (n, nv, k) columns of all friction shapes.
        effort, slope: (n, nv) scaled, and its derivative [Nm or N; per s].
        standing: (n, nv) whether joints stand still.
        cut_off: (n, nv) whether efforts are cut off, so that the row says nothing.
        further: (n, nv, m) columns that the maker was asked for beside these.
    """

    time: Array
    v: Array
    inertial: Array
    friction: Array
    effort: Array
    slope: Array
    standing: NDArray[np.bool_]
    cut_off: NDArray[np.bool_]
    further: Array


@dataclass(frozen=True, eq=False)
class Equations:
    """Those of one or more recordings; rows of all joints side by side.

    Attributes:
        rows: (nv, r, b + k + 1) base parameters, friction shapes, effort.
        slope: (nv, r) derivative of the effort, per s; 0 where it is not known.
        block: (r) number of the block that a row belongs to.
        begins: (blocks) time at which each begins [s]; of the recording it is of.
        counts: (nv, blocks) rows of each joint that went in.
        standing: (blocks) whether rows are those of joints that stand still; others are of joints
            that move. Rows of a joint are zero in blocks that it has no part in.
    """

    rows: Array
    slope: Array
    block: NDArray[np.int64]
    begins: Array
    counts: NDArray[np.int64]
    standing: NDArray[np.bool_]

    def scaled(self, scale: Array) -> Equations:
        """With efforts times a scale (nv)."""
        rows = self.rows.copy()
        rows[..., -1] *= scale[:, np.newaxis]
        return replace(self, rows=rows, slope=self.slope * scale[:, np.newaxis])

    @classmethod
    def joined(cls, parts: Sequence[Equations]) -> Equations:
        """One after the other."""
        shifts = np.cumsum([0] + [len(part.begins) for part in parts[:-1]])
        return cls(
            np.concatenate([part.rows for part in parts], axis=1),
            np.concatenate([part.slope for part in parts], axis=1),
            np.concatenate([p.block + shift for p, shift in zip(parts, shifts, strict=True)]),
            np.concatenate([part.begins for part in parts]),
            np.concatenate([part.counts for part in parts], axis=1),
            np.concatenate([part.standing for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A stretch behind the wide filter, sampled as finely as regressors are computed.

    Attributes:
        time: (n) stamps [s].
        period: of the samples [s].
        q, v, a: (n, nv) positions and their derivatives.
        effort: (n, nv) scaled [Nm or N].
        standing: (n, nv) whether joints stand still.
        cut_off: (n, nv) whether efforts within the filter's window are cut off.
    """

    time: Array
    period: float
    q: Array
    v: Array
    a: Array
    effort: Array
    standing: NDArray[np.bool_]
    cut_off: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EquationMaker:
    """Turns recordings of one robot into equations.

    Attributes:
        robot: whose regressor is used.
        base: its base parameters.
        filtering: of both sides.
        scale: (nv) torque over reported effort.
        load: of the joints; None: equations have no column of it.
        cut_off: (2, nv) lowest and highest reported efforts that are no measurements, for they are
            cut off there; None: there are none.
        lag: of efforts behind positions, which is taken out [s].
        further: columns (n, nv, m) of chunks, of positions and velocities (n, nv); None: m is 0.
    """

    robot: Robot
    base: BaseParameters
    filtering: Filtering
    scale: Array
    load: Load | None = None
    cut_off: Array | None = None
    lag: float = 0.0
    further: Callable[[Array, Array], Array] | None = None

    def chunks(self, samples: JointSamples) -> Iterator[Chunk]:
        """The equations of a recording, block by block.

        Raises:
            UnusableRecordingError: it is shorter than the filters.
        """
        found = 0
        stretches = regular_stretches(samples)
        length = max(SHORTEST_BLOCK, samples.duration / MOST_BLOCKS)
        for stretch in stretches:
            for chunk in self._of(stretch, length, samples.time.min()):
                found += len(chunk.time)
                yield chunk
        if found < 5:
            longest = max((len(one) * one.period for one in stretches), default=0.0)
            raise UnusableRecordingError(
                f'{samples.source}: {longest:.1f} s without a gap are too short'
                + (f' (of {samples.duration:.1f} s in all); ' if len(stretches) > 1 else '; ')
                + 'a minute of motion of all joints is a good recording'
            )

    def equations(self, samples: JointSamples) -> Equations:
        """The equations of a recording, compressed block by block."""
        begins: list[float] = []
        blocks, numbers, counts, still = [], [], [], []
        for chunk in self.chunks(samples):
            efforts = np.stack([chunk.slope, chunk.effort], axis=-1)
            whole = np.concatenate([chunk.inertial, chunk.friction, efforts], axis=-1)
            for standing in (False, True):
                own = (chunk.standing == standing) & ~chunk.cut_off
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
        rows = np.concatenate(blocks, axis=1)
        return Equations(
            np.delete(rows, -2, axis=-1),
            rows[..., -2],
            np.array(numbers, dtype=np.int64),
            np.array(begins),
            np.array(counts, dtype=np.int64).T,
            np.array(still),
        )

    def smoothed(self, stretch: Stretch) -> Smoothed:
        """A stretch behind the wide filter, with efforts and positions of the same time."""
        stretch = stretch.with_efforts_later(-self.lag)
        every = max(1, int(1.0 / (FINE_RATE * stretch.period)))
        wide = LowPass(stretch.period, self.filtering.wide, every)
        position = with_velocities(stretch, self.filtering.narrow)
        q, v, a = (wide(position, derivative) for derivative in (0, 1, 2))
        time = stretch.start + stretch.period * wide.centers(len(stretch)).astype(np.float64)
        effort = wide(stretch.effort * self.scale)
        period = stretch.period * every
        standing = _standing(stretch, wide, v, period)
        cut_off = np.zeros_like(standing)
        if self.cut_off is not None:
            lowest, highest = self.cut_off
            reached = (stretch.effort <= lowest) | (stretch.effort >= highest)
            cut_off = _within(reached, wide)[wide.centers(len(stretch))]
        return Smoothed(time, period, q, v, a, effort, standing, cut_off)

    def narrow_filter(self, period: float) -> LowPass:
        """What both sides of the equations pass; one row for half a period of its cutoff."""
        cutoff = self.filtering.narrow
        return LowPass(period, cutoff, max(1, int(0.5 / (cutoff * period))))

    def _of(self, stretch: Stretch, length: float, origin: float) -> Iterator[Chunk]:
        smooth = self.smoothed(stretch)
        narrow = self.narrow_filter(smooth.period)
        total = narrow.count(len(smooth.time))
        step = max(1, round(length / (narrow.every * smooth.period)))
        # Windows reach beyond a block, so several blocks are filtered at once.
        for first in range(0, total, BLOCKS_AT_ONCE * step):
            last = min(total, first + BLOCKS_AT_ONCE * step)
            taken = slice(first * narrow.every, (last - 1) * narrow.every + 2 * narrow.half + 1)
            q, v, a = smooth.q[taken], smooth.v[taken], smooth.a[taken]
            Y = with_rotors(self.robot.regressor(q, v, a), a)[..., self.base.chosen]
            columns = friction_columns(v)
            if self.load is not None:
                carried = self.load.column(Y, v)[..., np.newaxis]
                columns = np.concatenate([columns, carried], axis=-1)
            further = self.further(q, v) if self.further else np.zeros((*q.shape, 0))
            centers = slice(first * narrow.every + narrow.half, taken.stop - narrow.half)
            whole = (
                smooth.time[centers][:: narrow.every] - origin,
                smooth.v[centers][:: narrow.every],
                narrow(Y),
                narrow(columns),
                narrow(smooth.effort[taken]),
                narrow(smooth.effort[taken], 1),
                narrow(further),
            )
            still = np.abs(narrow(smooth.standing[taken].astype(np.float64))) > STANDING
            cut_off = _within(smooth.cut_off, narrow)[centers][:: narrow.every]
            for begin in range(0, last - first, step):
                own = slice(begin, begin + step)
                time, v, inertial, friction, effort, slope, further = (part[own] for part in whole)
                rows = time, v, inertial, friction, effort, slope
                yield Chunk(*rows, still[own], cut_off[own], further)


def _within(happens: NDArray[np.bool_], window: LowPass) -> NDArray[np.bool_]:
    """(n, nv) whether something happens within the window of a filter around each sample."""
    size = (2 * window.half + 1, 1)
    found: NDArray[np.bool_] = scipy.ndimage.maximum_filter(happens, size, mode='nearest')
    return found


def _standing(stretch: Stretch, wide: LowPass, v: Array, period: float) -> NDArray[np.bool_]:
    """(n, nv) when joints stand still, by velocities behind a filter with samples of a period."""
    # Sixth differences are those of noise and encoder steps; motion goes on smoothly.
    rough = np.diff(stretch.position, 6, axis=0)
    noise = wide.gain(1) * np.sqrt((rough**2).mean(axis=0) / 924.0) if len(rough) else 0.0
    slow = np.abs(v) < np.maximum(STILL_SPEED, FAR * noise)
    lasting = np.ones((max(1, round(STANDS_AFTER / period)), 1), dtype=bool)
    found: NDArray[np.bool_] = scipy.ndimage.binary_opening(slow, lasting)
    return found
