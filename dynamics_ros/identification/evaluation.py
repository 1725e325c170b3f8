# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals of an identified robot on a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from .equations import EquationMaker
from .fit import Fit
from .joint_states.samples import JointSamples, UnusableRecordingError
from .normal_equations import predictions

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Filtered measured and modelled efforts of a recording, without samples of clipped efforts.

    Attributes:
        time: (n) time since the start of the recording [s].
        v: (n, nv) velocities [rad/s or m/s].
        measured, modelled: (n, nv) efforts times their scale [Nm or N].
        friction: (n, nv) measured efforts without the torques of bodies and rotors [Nm or N].
        standing: (n, nv) whether a joint stands still, where static friction of unknown size holds
            it.
    """

    time: Array
    v: Array
    measured: Array
    modelled: Array
    friction: Array
    standing: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: Sequence[Evaluation]) -> Evaluation:
        """Evaluation of several recordings, with their times one after another."""
        begins = np.cumsum([0.0] + [part.time[-1] for part in parts[:-1]])
        shifted = [replace(p, time=p.time + b) for p, b in zip(parts, begins, strict=True)]
        return cls(
            *(np.concatenate([getattr(p, one.name) for p in shifted]) for one in fields(cls))
        )

    def rows(self, chosen: NDArray[np.bool_]) -> Evaluation:
        """Evaluation of selected samples (n) only."""
        values = {field.name: getattr(self, field.name)[chosen] for field in fields(self)}
        return Evaluation(**values)

    @property
    def residual(self) -> Array:
        """(n, nv) measured minus modelled efforts [Nm or N]."""
        return self.measured - self.modelled

    @property
    def rms(self) -> Array:
        """(nv) root mean square of the residual [Nm or N]."""
        found: Array = np.sqrt(np.mean(self.residual**2, axis=0))
        return found

    @property
    def percent(self) -> Array:
        """(nv) RMS of the residual relative to the RMS of the measured effort [%]."""
        size = np.sqrt(np.mean(self.measured**2, axis=0))
        return 100.0 * self.rms / np.maximum(size, 1e-12)

    @property
    def percent_moving(self) -> float:
        """RMS of the residual relative to the RMS effort, over all joints while they move [%]."""
        moving = ~self.standing
        size = np.sqrt(np.sum(self.measured[moving] ** 2))
        return float(100.0 * np.sqrt(np.sum(self.residual[moving] ** 2)) / max(size, 1e-12))

    @property
    def percent_all(self) -> float:
        """RMS of the residual relative to the RMS effort, over all joints [%]."""
        size = np.sqrt(np.sum(self.measured**2))
        return float(100.0 * np.sqrt(np.sum(self.residual**2)) / max(size, 1e-12))


def evaluate(maker: EquationMaker, fit: Fit, samples: JointSamples) -> Evaluation:
    """Compare a recording with the identified model.

    Raises:
        UnusableRecordingError: it is shorter than the filters, or all efforts are clipped.
    """
    parts = []
    K = maker.base.combination
    for chunk in maker.chunks(samples):
        rows = np.concatenate([chunk.inertial, chunk.friction], axis=-1).transpose(1, 0, 2)
        modelled = predictions(fit.layout, rows, fit.x).T
        rigid = chunk.inertial @ (K @ fit.x[: fit.layout.inertial])
        own = chunk.effort, modelled, chunk.effort - rigid, chunk.standing
        whole = Evaluation(chunk.time, chunk.v, *own)
        usable: NDArray[np.bool_] = np.asarray(~chunk.cut_off.any(axis=1))
        if usable.any():
            parts.append(whole.rows(usable))
    if not parts:
        raise UnusableRecordingError(
            f'{samples.source}: efforts are cut off at their largest value all the time; record '
            'slower motion'
        )
    joined = Evaluation.joined(parts)
    return replace(joined, time=np.concatenate([part.time for part in parts]))
