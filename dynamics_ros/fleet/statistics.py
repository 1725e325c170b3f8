# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics of a recording in one pass: stamps, residuals, and friction that explains them.

Without contact the estimated external torque is the error of the model. For each joint in motion it
is explained by friction in addition to that of the model and by weight,

    -external_i = viscous v_i + coulomb tanh(v_i / v_f) + offset + share g_i(q),

where all columns pass the low-pass of the observer. The last column absorbs the effect of wrong
masses and payloads, so that it is not taken for friction.
"""

from __future__ import annotations

import struct
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.estimation.blocks import Estimates
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.reports import NANOSECONDS
from dynamics_ros.identification.fit import posterior
from dynamics_ros.identification.joint_states.clock import GAP_PERIODS, GAP_TIME
from dynamics_ros.recordings.states import Batch

Array = NDArray[np.float64]

BLOCK = 4096
"""Number of samples processed together."""

STAMP = 4
"""Position of the stamp in a message [bytes]."""

ORDERS = struct.Struct('>iI'), struct.Struct('<iI')
"""Formats of a stamp by byte order, the second byte of the encapsulation."""

COLUMNS = ('viscous', 'coulomb', 'offset', 'weight')

MOVING = 0.01
"""Minimum speed of samples used for friction, times ``EffortModel.motion`` [rad/s]."""

SPEED = 0.2
"""Speed at which friction is compared, of a sliding joint times ``motion_scales`` [rad/s]."""

MIN_FREE_SHARE = 0.7
"""Minimum share of the motion that must be without contact to exclude motion in contact. If
friction has risen so far that all motion is detected as contact, that friction must still be
found."""

MIN_MOTION = 2.0
"""Minimum duration of motion of a joint for an estimate of its friction [s]."""

RIDGE = 1e-9
"""Prior information over that of the data, so that undetermined unknowns are zero."""


class ClockWatch:
    """Timing of the joint states on a topic; messages of another length are of another publisher.

    A gap is an interval longer than ``GAP_PERIODS`` periods and ``GAP_TIME``.
    """

    def __init__(self, topic: str) -> None:
        """Creates it without messages."""
        self._topic = topic
        self._stamps: defaultdict[int, array[int]] = defaultdict(partial(array, 'q'))
        self._recorded: dict[int, tuple[int, int]] = {}

    def watched(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yields the same batches."""
        for batch in batches:
            size = len(batch.messages[0])
            if batch.topic == self._topic and size >= STAMP + ORDERS[0].size:
                begin, _ = self._recorded.get(size, (batch.times[0], 0))
                self._recorded[size] = begin, batch.times[-1]
                for data in batch.messages:
                    seconds, rest = ORDERS[data[1] & 1].unpack_from(data, STAMP)
                    self._stamps[size].append(seconds * NANOSECONDS + rest)
            yield batch

    def columns(self) -> dict[str, Any]:
        """Returns the columns of the summary, for the publisher with the most messages."""
        size = max(self._stamps, key=lambda size: len(self._stamps[size]), default=0)
        begin, end = self._recorded.get(size, (0, 0))
        steps = np.diff(self._stamps[size]) / NANOSECONDS
        steps = steps[steps > 0.0]
        longest = max(GAP_PERIODS * float(np.median(steps)), GAP_TIME) if len(steps) else 0.0
        usual = steps[steps <= longest]
        return {
            'begin': begin,
            'end': end,
            'duration': (end - begin) / NANOSECONDS,
            'rate': 1.0 / float(usual.mean()) if len(usual) else 0.0,
            'jitter': float(usual.std()) if len(usual) else 0.0,
            'gaps': len(steps) - len(usual),
        }


def low_pass(values: Array, decay: Array, last: Array) -> Array:
    """First-order low-pass y_k = d y_(k-1) + (1 - d) x_k along the first axis.

    It is a system of two diagonals; ``scipy.signal`` takes 70 MB and most of a second to load in
    each worker.

    Args:
        values: (n, rows, columns).
        decay: (rows) factor d of each row, between 0 and 1.
        last: (rows, columns) output before the first sample.
    """
    right = values * (1.0 - decay)[:, np.newaxis]
    right[0] += decay[:, np.newaxis] * last
    # Of one sample nothing follows; SciPy before 1.15 fails there.
    for row, d in enumerate(decay if len(values) > 1 else ()):
        bands = np.stack([np.ones(len(values)), np.full(len(values), -d)])
        right[:, row] = scipy.linalg.solve_banded((1, 0), bands, right[:, row])
    return right


class JointResiduals(NamedTuple):
    """Residuals of the joints, in the order of v; friction is NaN for joints that hardly moved.

    Attributes:
        effort_rms, residual_rms: (nv) without contact; of all samples if less than
            ``MIN_FREE_SHARE`` of them are without contact [Nm or N].
        viscous, coulomb: (nv) sums of the model's coefficients and the unknowns.
        friction, friction_deviation: (nv) sum of the model's friction and the unknowns at
            ``SPEED``, and its standard deviation [Nm or N].
        friction_declared: (nv) friction of the model at ``SPEED``.
        unknowns: (nv, 4) ``COLUMNS`` in addition to the model.
    """

    effort_rms: Array
    residual_rms: Array
    viscous: Array
    coulomb: Array
    friction: Array
    friction_deviation: Array
    friction_declared: Array
    unknowns: Array

    @property
    def percent(self) -> float:
        """Share of the efforts of all joints that the model does not explain [%]."""
        return percent_unexplained(self.effort_rms, self.residual_rms)


def percent_unexplained(effort: Any, residual: Any) -> float:
    """Returns the share of residuals in efforts, both RMS by joint [%]."""
    return 100.0 * float(np.linalg.norm(residual)) / max(float(np.linalg.norm(effort)), 1e-9)


class ResidualSums:
    """Accumulates the sums from which ``JointResiduals`` is computed."""

    def __init__(self, pipeline: ContactPipeline) -> None:
        """Creates empty sums; uses the observer gains and effort model of the pipeline."""
        self._gain = pipeline.observer.gain
        self._model = pipeline.observer.effort_model
        nv = len(self._gain)
        # For samples without contact, and for all: sums of products of the rows, durations.
        self._grams = np.zeros((2, nv, len(COLUMNS) + 1, len(COLUMNS) + 1))
        self._times = np.zeros((2, nv))
        self._squares, self._counts, self._newest = np.zeros((2, 2, nv)), np.zeros(2), -1
        self._last: tuple[int, Array] | None = None
        self._pipeline, self._parts, self._size = pipeline, list[list[Any]](), 0

    @property
    def count(self) -> int:
        """Number of samples."""
        self._sum_up()
        return int(self._counts[1])

    def add(self, estimates: Estimates, pipeline: ContactPipeline) -> None:
        """Adds consecutive estimates of a pipeline.

        The estimate of a state is repeated while the next one is held as doubtful: it counts once.
        """
        if pipeline is not self._pipeline:
            self._sum_up()
            self._pipeline = pipeline
        states = estimates.states
        state = np.array([report.state for report in estimates.reports], dtype=np.int64)
        columns = states.time, states.q, states.v, states.effort, estimates.values, state
        new = np.diff(states.time, prepend=self._newest) != 0
        self._newest = int(states.time[-1])
        self._parts.append([column[new] for column in columns])
        self._size += int(new.sum())
        if self._size >= BLOCK:
            self._sum_up()

    def _sum_up(self) -> None:
        if not self._size:
            return
        pipeline = self._pipeline
        time, q, v, effort, external, state = map(np.concatenate, zip(*self._parts, strict=True))
        self._parts, self._size, free = [], 0, state == 0
        columns = self.columns(v, pipeline.robot.gravity(q))
        before, last = self._last or (time[0], columns[0])
        intervals = np.clip(np.diff(time, prepend=before) * 1e-9, 0.0, pipeline.observer.max_gap)
        # The same filter as that of the external torques.
        decay = np.exp(-self._gain * float(np.median(intervals)))
        columns = low_pass(columns, decay, last)
        self._last = int(time[-1]), columns[-1].copy()
        moving = np.abs(columns[..., 0]) > MOVING * self._model.motion
        rows = np.concatenate([columns, -external[..., np.newaxis]], axis=-1)
        torque = self._model.scale * effort + self._model.offset
        for which, chosen in enumerate((free, np.ones_like(free))):
            mask = moving & chosen[:, np.newaxis]
            own = rows * mask[..., np.newaxis]
            self._grams[which] += np.einsum('njc,njd->jcd', own, own, optimize=True)
            self._times[which] += intervals @ mask
            for k, values in enumerate((torque, external)):
                self._squares[which, k] += (values[chosen] ** 2).sum(axis=0)
            self._counts[which] += chosen.sum()

    def columns(self, v: Array, gravity: Array) -> Array:
        """Returns the regressor (..., nv, 4) of friction and weight."""
        dry = np.tanh(v / self._model.speeds[0])
        return np.stack([v, dry, np.ones_like(v), gravity], axis=-1)

    def result(self) -> JointResiduals:
        """Returns the residuals and the friction of the joints."""
        self._sum_up()
        model, nv = self._model, len(self._gain)
        unknowns, deviation = np.full((nv, len(COLUMNS)), np.nan), np.full(nv, np.nan)
        speed, zero = SPEED * model.motion, np.zeros(nv)
        rows = np.stack([speed, np.tanh(speed / model.speeds[0]), zero, zero], axis=1)
        for joint, (free, whole) in enumerate(self._times.T):
            which = 0 if free >= MIN_FREE_SHARE * whole else 1
            if self._times[which, joint] < MIN_MOTION:
                continue
            gram = self._grams[which, joint]
            A, b = gram[:-1, :-1], gram[:-1, -1]
            ridge = np.diag(RIDGE * np.maximum(np.diag(A), 1e-12 * A.max() + 1e-300))
            x, covariance = posterior(A, b, ridge, np.zeros(len(b)))
            # Samples are correlated over two time constants of the observer.
            independent = 0.5 * self._gain[joint] * self._times[which, joint]
            left = max(gram[-1, -1] - x @ gram[:-1, -1], 0.0)
            unknowns[joint] = x
            deviation[joint] = np.sqrt(rows[joint] @ covariance @ rows[joint] * left / independent)
        free, whole = self._counts
        which = 0 if free >= MIN_FREE_SHARE * whole else 1
        effort, residual = np.sqrt(self._squares[which] / max(self._counts[which], 1.0))
        declared = model.friction_torque(speed)
        return JointResiduals(
            effort,
            residual,
            model.viscous + unknowns[:, 0],
            model.coulomb + unknowns[:, 1],
            declared + (unknowns * rows).sum(axis=1),
            deviation,
            declared,
            unknowns,
        )
