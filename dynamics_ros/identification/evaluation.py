# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Result of an identification, residuals of its fit, and the effort model of the drives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.effort_model import MAX_LOAD_FRICTION
from dynamics_ros.robot import Robot

from .bodies import pseudo_inertia
from .equations import Chunk, EquationMaker, Equations
from .fit import Fit, weighed
from .joint_states.noise import SampleNoise
from .joint_states.samples import JointSamples, joined

Array = NDArray[np.float64]
MaybeArray = Array | None
ArrayOrNumber = Array | float


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
        return joined(cls, shifted)

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

    def part(chunk: Chunk) -> tuple[Any, ...]:
        rigid = chunk.inertial @ columns[0, :b]
        friction = np.einsum('njk,jk->nj', chunk.friction, columns[:, b:])
        own = chunk.effort, rigid + friction, chunk.effort - rigid, chunk.standing
        return chunk.time, chunk.v, *own

    # One chunk after the other: their columns together may take too much memory.
    parts = zip(*map(part, maker.chunks(samples)), strict=True)
    return Evaluation(*map(np.concatenate, parts))


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
    )


@dataclass(frozen=True)
class Parameter:
    """An identified parameter.

    Attributes:
        name: quantity, with its link or joint.
        kind: 'base', 'body', 'rotor' or 'friction'.
        unit: unit of value and deviation.
        value: identified value.
        deviation: standard deviation.
        identifiable: whether the motion identifies it; otherwise the value is that of the
            description, changed by its correlation with other parameters.
    """

    name: str
    kind: str
    unit: str
    value: float
    deviation: float
    identifiable: bool


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Errors of a model and noise of samples that are known before residuals are learned.

    Attributes:
        noise: noise of single samples, which estimators get separately; None: no noise.
        of_fit: (nv) standard deviation of modelled torques in other postures [Nm or N].
        largest_of_fit: (nv) the same in the worst posture, in which a robot may work permanently,
            so thresholds use it [Nm or N].
        residual: (nv) RMS residual of the model in slow motion; smaller noise does not require
            another observer [Nm or N].
        of_viscous: (nv) standard deviation of viscous friction; in faster motion than that of the
            recordings it is an error per speed [Nms/rad or Ns/m].
    """

    noise: SampleNoise | None = None
    of_fit: Array | float = 0.0
    largest_of_fit: Array | float = 0.0
    residual: Array | float = 0.0
    of_viscous: Array | float = 0.0


OPTIONAL = ('units', 'mounting', 'velocities', 'weights', 'curve', 'load', 'rest')
"""Mechanisms that can be left out, as by ``scripts/bench identification --part ablation``."""


@dataclass(eq=False)
class Identified:
    """Identification of a robot. Stages fill the fields below ``without`` one after another.

    Attributes:
        robot: described robot with a fixed base and joints of one coordinate.
        recordings: recordings of its joints in its order; none in the end.
        held: whether bodies are fixed to the description.
        scale: (nv) torque per unit of reported effort; None: it is estimated.
        without: names of ``OPTIONAL`` mechanisms that are left out.
        stretches: the recordings at equal time steps, divided at gaps; none in the end.
        moved: (nv) whether joints move.
        maker: source of the equations, with filters, effort scale, friction curve and load.
        equations: equations of all recordings; deleted in the end.
        fit: the fitted unknowns.
        of_speed: (n) standard deviation of the unknowns due to that of the friction speed, with the
            signs of their correlation.
        effort_model: meaning of reported efforts, with friction and rotors.
        train: residuals on the recordings.
        parameters: all parameters with their standard deviations.
        findings: one sentence for each fact that a user should know.
        noise: noise of single samples.
        accuracy: known errors of the model, and noise of the samples.
    """

    robot: Robot
    recordings: Sequence[JointSamples]
    held: bool = False
    scale: MaybeArray = None
    without: Collection[str] = ()
    stretches: list[JointSamples] = field(default_factory=list, init=False)
    moved: NDArray[np.bool_] = field(init=False)
    maker: EquationMaker = field(init=False)
    equations: Equations = field(init=False, repr=False)
    fit: Fit = field(init=False)
    of_speed: ArrayOrNumber = field(default=0.0, init=False)
    effort_model: EffortModel = field(init=False)
    train: Evaluation = field(init=False)
    parameters: list[Parameter] = field(init=False)
    findings: list[str] = field(default_factory=list, init=False)
    noise: SampleNoise = field(init=False)
    accuracy: Accuracy = field(init=False)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.without) - set(OPTIONAL))
        if unknown:
            raise InvalidArgumentError('without', ', '.join(unknown), ', '.join(OPTIONAL))

    @property
    def bodies(self) -> Array:
        """(bodies, 10) inertial parameters, in the order of ``robot.body_names``."""
        return self.fit.bodies

    @property
    def consistent(self) -> bool:
        """Whether the inertial parameters are physically consistent."""
        return pseudo_inertia.consistent(self.bodies)

    def deviations(self, name: str) -> Array:
        """(nv) standard deviations of 'offset', 'viscous' or 'coulomb' [Nm, Nms/rad, N or Ns/m]."""
        by_name = {one.name: one.deviation for one in self.parameters}
        return np.array([by_name[f'{name} {joint}'] for joint in self.robot.joint_names])

    def evaluate(self, samples: JointSamples) -> Evaluation:
        """Residuals on another recording."""
        return evaluate(self.maker, self.fit, samples)

    def uses(self, mechanism: str) -> bool:
        """Whether an optional mechanism is used."""
        return mechanism not in self.without

    def equations_of(self, maker: EquationMaker) -> Equations:
        """Equations of all recordings, made by another maker."""
        return Equations.joined([maker.equations(samples) for samples in self.recordings])

    def refit(self, loads: Array | None = None) -> None:
        """Weigh and fit the equations, with loads (nv) of joints that have such friction."""
        robust = self.uses('weights')
        self.fit = weighed(self.maker, self.equations, self.moved, self.held, loads, robust)
