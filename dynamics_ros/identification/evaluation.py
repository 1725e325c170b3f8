# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Record of an identification, residuals of its fit, and the effort model of the drives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.effort_model import MAX_LOAD_FRICTION
from dynamics_ros.robot import Robot

from .equations import STRIBECK_VELOCITY, EquationMaker, Equations
from .fit import Fit, weighed
from .joint_states.clock import Stretch
from .joint_states.samples import JointSamples

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Filtered measured and modelled efforts of a recording.

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
    def percent_all(self) -> float:
        """RMS of the residual relative to the RMS effort, over all joints [%]."""
        size = float(np.linalg.norm(self.measured))
        return 100.0 * float(np.linalg.norm(self.residual)) / max(size, 1e-12)


def evaluate(maker: EquationMaker, fit: Fit, samples: JointSamples) -> Evaluation:
    """Compare a recording with the identified model.

    Raises:
        UnusableRecordingError: it is shorter than the filters.
    """
    columns, b = fit.layout.columns_of(fit.x), len(maker.base)
    parts = []
    for chunk in maker.chunks(samples):
        rigid = chunk.inertial @ columns[0, :b]
        friction = np.einsum('njk,jk->nj', chunk.friction, columns[:, b:])
        own = chunk.effort, rigid + friction, chunk.effort - rigid, chunk.standing
        parts.append(Evaluation(chunk.time, chunk.v, *own))
    joined = Evaluation.joined(parts)
    return replace(joined, time=np.concatenate([part.time for part in parts]))


def effort_model_of(maker: EquationMaker, fit: Fit) -> EffortModel:
    """Effort model from a fit, and from the effort scale of its equations."""
    viscous, offset, dry, rest, _ = np.maximum(fit.friction, [0.0, -np.inf, 0.0, 0.0, 0.0]).T
    # The effort model computes torques on the bodies: motor offset and friction are subtracted.
    return EffortModel.ideal(maker.robot).with_values(
        scale=maker.scale,
        offset=-offset,
        viscous=viscous,
        coulomb=dry,
        stribeck=rest - dry,
        load_friction=np.minimum(fit.load_friction, MAX_LOAD_FRICTION),
        rotor_inertia=np.maximum(fit.rotors, 0.0),
        friction_velocity=maker.friction_velocity,
        stribeck_velocity=STRIBECK_VELOCITY,
    )


OPTIONAL = ('units', 'mounting', 'velocities', 'weights', 'curve', 'load', 'rest')
"""Mechanisms that can be left out, as by ``scripts/bench identification --part ablation``."""


@dataclass(eq=False)
class Problem:
    """An identification. Stages add to the fields below ``without``.

    Attributes:
        robot: described robot with a fixed base and joints of one coordinate.
        recordings: recordings of its joints in its order.
        held: whether bodies are fixed to the description.
        scale: (nv) torque per unit of reported effort; None: it is estimated.
        without: names of ``OPTIONAL`` mechanisms that are left out.
        stretches: the recordings at equal time steps, divided at gaps.
        moved: (nv) whether joints move.
        maker: source of the equations, with filters, effort scale, friction curve and load.
        equations: equations of all recordings.
        fit: the fitted unknowns.
        of_speed: (n) standard deviation of the unknowns due to that of the friction speed, with the
            signs of their correlation.
        train: residuals on the recordings.
        findings: one sentence for each fact that a user should know.
    """

    robot: Robot
    recordings: Sequence[JointSamples]
    held: bool = False
    scale: Array | None = None
    without: Collection[str] = ()
    stretches: list[Stretch] = field(default_factory=list, init=False)
    moved: NDArray[np.bool_] = field(init=False)
    maker: EquationMaker = field(init=False)
    equations: Equations = field(init=False)
    fit: Fit = field(init=False)
    of_speed: Array | float = field(default=0.0, init=False)
    train: Evaluation = field(init=False)
    findings: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.without) - set(OPTIONAL))
        if unknown:
            raise InvalidArgumentError('without', ', '.join(unknown), ', '.join(OPTIONAL))

    def uses(self, mechanism: str) -> bool:
        """Whether an optional mechanism is used."""
        return mechanism not in self.without

    def equations_of(self, maker: EquationMaker) -> Equations:
        """Equations of all recordings, made by another maker."""
        return Equations.joined([maker.equations(samples) for samples in self.recordings])

    def refit(self, loads: Array | None = None) -> None:
        """Weigh and fit the equations, with loads (nv) of joints that have such friction."""
        self.fit = weighed(
            self.maker, self.equations, self.moved, self.held, loads, self.uses('weights')
        )
