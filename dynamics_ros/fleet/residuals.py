# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals of a model in a recording, and the friction that would explain them.

Without contact the estimated external torque is the error of the model. For each joint in motion it
is explained by friction in addition to that of the model and by weight,

    -external_i = viscous v_i + coulomb tanh(v_i / v_f) + offset + share g_i(q),

where all columns pass the low-pass of the observer. The last column absorbs the effect of wrong
masses and payloads, so that it is not taken for friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.external_torques import Estimates

Array = NDArray[np.float64]

BLOCK = 4096
"""Number of samples processed together."""

CHUNK = 64
"""Number of samples filtered in one matrix product."""

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
"""Regularization relative to the largest entry, so that undetermined unknowns are zero."""


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive samples.

    Attributes:
        time: (n) stamps [ns].
        q: (n, nq), v: (n, nv), effort: (n, nv) reported efforts.
        external: (n, nv) estimated external torques [Nm or N].
        state: (n) contact states, values of ``ContactState``.
    """

    time: NDArray[np.int64]
    q: Array
    v: Array
    effort: Array
    external: Array
    state: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)

    @classmethod
    def of(cls, estimates: Estimates) -> Block:
        """Creates a block from estimates."""
        states = estimates.states
        state = np.array([report.state for report in estimates.reports], dtype=np.int64)
        return cls(states.time, states.q, states.v, states.effort, estimates.values, state)

    @classmethod
    def together(cls, parts: Sequence[Block]) -> Block:
        """Concatenates blocks."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate(columns) for columns in zip(*map(_columns, parts))))

    def rows(self, which: slice | NDArray[np.bool_]) -> Block:
        """Selects samples."""
        return Block(*(column[which] for column in _columns(self)))


def _columns(block: Block) -> tuple[NDArray[Any], ...]:
    return block.time, block.q, block.v, block.effort, block.external, block.state


class LowPass:
    """First-order low-pass y_k = d y_(k-1) + (1 - d) x_k, initialized with the first sample.

    ``scipy.signal`` also has one but takes 70 MB and most of a second to load in each worker.
    """

    def __init__(self) -> None:
        self._last: Array | None = None

    def filtered(self, values: Array, decay: Array) -> Array:
        """Filters the next samples.

        With y_0 the last output, y_k = d^k y_0 + (1 - d) sum_(i = 1..k) d^(k - i) x_i, which is a
        product with a triangular matrix for several samples at a time.

        Args:
            values: (n, rows, columns).
            decay: (rows) factor d of each row, between 0 and 1.

        Returns:
            (n, rows, columns).
        """
        last = values[0] if self._last is None else self._last
        steps = np.arange(min(CHUNK, len(values)))
        lag = steps[:, np.newaxis] - steps
        one = decay[:, np.newaxis]
        weights = np.where(lag < 0, 0.0, one[..., np.newaxis] ** np.maximum(lag, 0))
        weights *= 1.0 - one[..., np.newaxis]
        remaining = (one ** (steps + 1))[..., np.newaxis]
        found = np.empty((values.shape[1], len(values), values.shape[2]))
        rows = np.ascontiguousarray(values.transpose(1, 0, 2))
        for begin in range(0, len(values), CHUNK):
            chunk = rows[:, begin : begin + CHUNK]
            count = chunk.shape[1]
            part = weights[:, :count, :count] @ chunk
            part += remaining[:, :count] * last[:, np.newaxis]
            found[:, begin : begin + count] = part
            last = part[:, -1]
        self._last = last
        return found.transpose(1, 0, 2)


@dataclass(frozen=True, eq=False)
class JointResiduals:
    """Residuals of the joints, in the order of v.

    Attributes:
        effort_rms, residual_rms: (nv) without contact; of all samples if less than
            ``MIN_FREE_SHARE`` of them are without contact [Nm or N].
        moving: (nv) duration of motion [s].
        unknowns: (nv, 4) ``COLUMNS`` in addition to the model; NaN for joints that hardly moved.
        friction: (nv) sum of the model's friction and the unknowns at ``SPEED`` [Nm or N].
        deviation: (nv) standard deviation of ``friction``.
        declared: (nv) friction of the model at ``SPEED``.
        viscous, coulomb: (nv) sums of the model's coefficients and the unknowns.
    """

    effort_rms: Array
    residual_rms: Array
    moving: Array
    unknowns: Array
    friction: Array
    deviation: Array
    declared: Array
    viscous: Array
    coulomb: Array

    def without_friction(self) -> JointResiduals:
        """Returns a copy with unknown friction, for residuals that are too large to be friction."""
        unknown = np.full(len(self.friction), np.nan)
        found = dict.fromkeys(('friction', 'deviation', 'viscous', 'coulomb'), unknown)
        return replace(self, unknowns=np.full_like(self.unknowns, np.nan), **found)


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
        self._squares, self._counts = np.zeros((2, 2, nv)), np.zeros(2)
        self._low_pass = LowPass()
        self._last: int | None = None

    def add(self, block: Block, pipeline: ContactPipeline) -> None:
        """Adds samples with the pipeline of the payload at that time."""
        intervals = np.diff(block.time, prepend=block.time[0] if self._last is None else self._last)
        intervals = np.clip(intervals * 1e-9, 0.0, pipeline.observer.max_gap)
        self._last = int(block.time[-1])
        columns = self.columns(block.v, pipeline.robot.gravity(block.q))
        # The same filter as that of the external torques.
        decay = np.exp(-self._gain * float(np.median(intervals)))
        columns = self._low_pass.filtered(columns, decay)
        free = block.state == 0
        moving = np.abs(columns[..., 0]) > MOVING * self._model.motion
        rows = np.concatenate([columns, -block.external[..., np.newaxis]], axis=-1)
        for which, mask in enumerate((moving & free[:, np.newaxis], moving)):
            chosen = rows * mask[..., np.newaxis]
            self._grams[which] += np.einsum('njc,njd->jcd', chosen, chosen, optimize=True)
            self._times[which] += intervals @ mask
        torque = self._model.scale * block.effort + self._model.offset
        for which, chosen in enumerate((free, slice(None))):
            for k, values in enumerate((torque, block.external)):
                self._squares[which, k] += (values[chosen] ** 2).sum(axis=0)
        self._counts += free.sum(), len(free)

    def columns(self, v: Array, gravity: Array) -> Array:
        """Returns the regressor (..., nv, 4) of friction and weight."""
        dry = np.tanh(v / self._model.speeds[0])
        return np.stack([v, dry, np.ones_like(v), gravity], axis=-1)

    def result(self) -> JointResiduals:
        """Returns the residuals and the friction of the joints."""
        nv = len(self._gain)
        unknowns, deviation = np.full((nv, len(COLUMNS)), np.nan), np.full(nv, np.nan)
        speed, zero = SPEED * self._model.motion, np.zeros(nv)
        rows = np.stack([speed, np.tanh(speed / self._model.speeds[0]), zero, zero], axis=1)
        for joint in range(nv):
            free, whole = self._times[:, joint]
            which = 0 if free >= MIN_FREE_SHARE * whole else 1
            if self._times[which, joint] < MIN_MOTION:
                continue
            gram = self._grams[which, joint]
            x, covariance = _solved(gram)
            # Samples are correlated over two time constants of the observer.
            independent = 0.5 * self._gain[joint] * self._times[which, joint]
            left = max(gram[-1, -1] - x @ gram[:-1, -1], 0.0)
            unknowns[joint] = x
            deviation[joint] = np.sqrt(rows[joint] @ covariance @ rows[joint] * left / independent)
        free, whole = self._counts
        which = 0 if free >= MIN_FREE_SHARE * whole else 1
        effort, residual = np.sqrt(self._squares[which] / max(self._counts[which], 1.0))
        declared = _friction_at(self._model)
        return JointResiduals(
            effort,
            residual,
            self._times[1],
            unknowns,
            declared + (unknowns * rows).sum(axis=1),
            deviation,
            declared,
            self._model.viscous + unknowns[:, 0],
            self._model.coulomb + unknowns[:, 1],
        )


def _solved(gram: Array) -> tuple[Array, Array]:
    """Solves the normal equations; returns the solution and the inverse normal matrix."""
    A, b = gram[:-1, :-1], gram[:-1, -1]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-12 * max(float(A.max()), 1e-300)))
    scaled = A * np.outer(scale, scale) + RIDGE * np.eye(len(A))
    inverse = np.linalg.inv(scaled) * np.outer(scale, scale)
    return inverse @ b, inverse


def _friction_at(model: EffortModel) -> Array:
    return model.friction_torque(SPEED * model.motion)
