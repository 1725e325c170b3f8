# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the model leaves over of the efforts of a recording, and which friction that would be.

Without contact the estimated external torque is what the model does not know. For each joint in
motion it is explained by friction beyond that of the model and by weight,

    -external_i = viscous v_i + coulomb tanh(v_i / v_f) + offset + share g_i(q),

where all columns pass the low-pass of the observer. The last column takes up what wrong masses and
payloads leave over, so that it is not taken for friction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.contact_pipeline import ContactPipeline

from .low_pass import LowPass
from .samples import Block

Array = NDArray[np.float64]

COLUMNS = ('viscous', 'coulomb', 'offset', 'weight')

MOVING = 0.01
"""rad/s or m/s: a slower joint shows no friction."""

SPEED = 0.2
"""rad/s or m/s at which frictions are compared."""

ENOUGH = 0.7
"""Share of the motion without contact from which on motion in contact is left out: where friction
has risen so far that the whole motion is taken for a contact, that has to be seen."""

LEAST_MOTION = 2.0
"""s of motion of a joint that its friction is told from."""

RIDGE = 1e-9
"""Of the largest entry, so that what the motion does not tell stays zero."""


@dataclass(frozen=True, eq=False)
class JointResiduals:
    """What is left over, joint by joint in the order of v.

    Attributes:
        effort_rms, residual_rms: (nv) without contact, unless most is contact [Nm or N].
        moving: (nv) s of motion.
        unknowns: (nv, 4) ``COLUMNS`` beyond the model; NaN of a joint that hardly moved.
        friction: (nv) of model and unknowns together at ``SPEED`` [Nm or N].
        deviation: (nv) standard deviation of that.
        declared: (nv) friction of the model at ``SPEED``.
        viscous, coulomb: (nv) of model and unknowns together.
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
        """The same where what is left over is too much to be friction, which is not known then."""
        unknown = np.full(len(self.friction), np.nan)
        found = dict.fromkeys(('friction', 'deviation', 'viscous', 'coulomb'), unknown)
        return replace(self, unknowns=np.full_like(self.unknowns, np.nan), **found)


class ResidualSums:
    """Adds up what ``JointResiduals`` follow from."""

    def __init__(self, pipeline: ContactPipeline) -> None:
        """Begin; of the estimators their gains and their model of efforts are used."""
        self._gain = pipeline.observer.gain
        self._model = pipeline.observer.effort_model
        nv = len(self._gain)
        # Without contact, and all: products of columns and of what they explain; times.
        self._grams = np.zeros((2, nv, len(COLUMNS) + 1, len(COLUMNS) + 1))
        self._times = np.zeros((2, nv))
        self._squares, self._counts = np.zeros((2, 2, nv)), np.zeros(2)
        self._low_pass = LowPass()
        self._last: int | None = None

    def add(self, block: Block, pipeline: ContactPipeline) -> None:
        """Take samples in, with the estimators of what the robot carried then."""
        intervals = np.diff(block.time, prepend=block.time[0] if self._last is None else self._last)
        intervals = np.clip(intervals * 1e-9, 0.0, pipeline.observer.max_gap)
        self._last = int(block.time[-1])
        columns = self.columns(block.v, pipeline.robot.gravity(block.q))
        # As external torques are filtered.
        decay = np.exp(-self._gain * float(np.median(intervals)))
        columns = self._low_pass.filtered(columns, decay)
        free = block.state == 0
        moving = np.abs(columns[..., 0]) > MOVING
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
        """(..., nv, 4) what friction and weight are linear in."""
        dry = np.tanh(v / self._model.friction_velocity)
        return np.stack([v, dry, np.ones_like(v), gravity], axis=-1)

    def result(self) -> JointResiduals:
        """What was found."""
        nv = len(self._gain)
        unknowns, deviation = np.full((nv, len(COLUMNS)), np.nan), np.full(nv, np.nan)
        at_speed = np.array([SPEED, np.tanh(SPEED / self._model.friction_velocity), 0.0, 0.0])
        for joint in range(nv):
            free, whole = self._times[:, joint]
            which = 0 if free >= ENOUGH * whole else 1
            if self._times[which, joint] < LEAST_MOTION:
                continue
            gram = self._grams[which, joint]
            x, covariance = _solved(gram)
            # Samples hang together over two time constants of the observer.
            independent = 0.5 * self._gain[joint] * self._times[which, joint]
            left = max(gram[-1, -1] - x @ gram[:-1, -1], 0.0)
            unknowns[joint] = x
            deviation[joint] = np.sqrt(at_speed @ covariance @ at_speed * left / independent)
        free, whole = self._counts
        which = 0 if free >= ENOUGH * whole else 1
        effort, residual = np.sqrt(self._squares[which] / max(self._counts[which], 1.0))
        declared = _friction_at(self._model)
        return JointResiduals(
            effort,
            residual,
            self._times[1],
            unknowns,
            declared + unknowns @ at_speed,
            deviation,
            declared,
            self._model.viscous + unknowns[:, 0],
            self._model.coulomb + unknowns[:, 1],
        )


def _solved(gram: Array) -> tuple[Array, Array]:
    """Least squares, and the inverse of the normal matrix for rows of unit size together."""
    A, b = gram[:-1, :-1], gram[:-1, -1]
    scale = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-12 * max(float(A.max()), 1e-300)))
    scaled = A * np.outer(scale, scale) + RIDGE * np.eye(len(A))
    inverse = np.linalg.inv(scaled) * np.outer(scale, scale)
    return inverse @ b, inverse


def _friction_at(model: EffortModel) -> Array:
    return model.friction_torque(np.full(len(model.scale), SPEED))
