# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs without and with a load: what a robot holds ([Atkeson1986]), or the gains of its drives.

The parameters of the robot, of its friction, and of the load are fitted to both runs at once, so
that what the empty run does not tell of the robot widens the deviations. Friction may differ
between the runs, as it does with temperature, and grow with the load. What it has beyond the model,
such as ripple of gears, is a random effect that both runs share (``random_effects``): the more of
it the recordings show, the less their residuals tell of the load.

If the load is known, each joint is fitted separately, with base parameters of its own in reported
units, because a model with unknown masses fits efforts in any unit. Its efforts are

    Y phi + friction                          without the load,
    Y phi + friction + drift + Y_load / gain  with it,

where the torque Y_load of the load is known. The common terms of both runs do not affect the gain,
so it does not depend on the masses of the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.payload_identification import parameter_map
from dynamics_ros.model import ROOT
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Inertia, Matrix3, Vector3

from .equations import MIN_MOVING_ROWS, Chunk
from .evaluation import Identified
from .fit import FRICTION, share_at_rest
from .identify import identify
from .joint_states.joint_matching import named
from .joint_states.samples import JointSamples, UnusableRecordingError, joined
from .random_effects import GROUPS, MixedEquations, UnmodelledFriction, estimated

Array = NDArray[np.float64]

DRIFT, MIN_DRIFT = 0.2, 0.01
"""Friction that differs between two runs: part of the friction; of the RMS of the effort."""

LIGHT = 2.0
"""Deviations that a mass has to be off zero by."""

LEVELS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""rad/s or m/s between which residuals have one deviation: they are larger where joints turn. With
one deviation for all speeds, masses are off by up to 4.6 instead of 0.5 %."""

CARRIED = 0.3
"""Least share of its own weight in the efforts of a joint that shows the unit of efforts."""

MAX_ROWS = 5000
"""Of a run, beyond which more rows tell little of a load."""

HEAVIEST = np.array([100.0, *3 * [30.0], *6 * [10.0]])
"""Prior deviations of the parameters of a payload, which keep what is not told finite."""

KNOWN = 0.1
"""A gain is identified if its standard deviation is below this fraction of it."""

OPEN, FRICTION_REACH = 2.0, 10.0
"""Prior deviation of base parameters in reported units from the described ones, over that of the
identification prior; that of friction over the RMS effort."""


@dataclass(frozen=True, eq=False)
class Payload:
    """What a robot holds.

    Attributes:
        frame: that it is given in.
        mass: kg.
        center_of_mass: (3) in the frame [m].
        mass_deviation, center_of_mass_deviation: standard deviations.
        own_weight: weight of the robot by the recordings over that of its description, at the
            joints that tell the payload; not 1 if masses or the unit of efforts are not as
            described, so deviations of the mass include its difference from 1.
    """

    frame: str
    mass: float
    center_of_mass: Array
    mass_deviation: float
    center_of_mass_deviation: Array
    own_weight: float


@dataclass(frozen=True)
class KnownLoad:
    """A load of measured mass.

    Attributes:
        frame: frame to which it is fixed.
        mass: mass [kg].
        center: centre of mass in the frame [m].
    """

    frame: str
    mass: float
    center: tuple[float, float, float]

    def __post_init__(self) -> None:
        if not 0.0 < self.mass < np.inf:
            raise InvalidArgumentError('mass of the load', f'{self.mass:g} kg', 'more than 0')
        if not np.isfinite(self.center).all():
            raise InvalidArgumentError('centre of the load', str(self.center), 'three numbers')


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Torque per unit of reported effort [Nm or N per unit].

    Attributes:
        gain: (nv) gain; negative if efforts have the opposite sign.
        deviation: (nv) standard deviation of the gain; inf if the load does not determine it.
        told: (nv) whether the load determines the gain; otherwise it comes from the description.
    """

    gain: Array
    deviation: Array
    told: NDArray[np.bool_]


def identify_with_payload(
    robot: Robot,
    empty: Sequence[JointSamples],
    loaded: Sequence[JointSamples],
    frame: str,
) -> tuple[Identified, Payload]:
    """The empty robot, and what it holds in some of its recordings.

    Args:
        robot: as described, without the payload.
        empty, loaded: recordings of it without and with the payload.
        frame: what the payload is fixed to.

    Raises:
        UnknownFrameError: no such frame.
        UnusableRecordingError: no joint moves the frame, the mass is unknown, or the runs are
            interchanged.
    """
    body = _carrier(robot, frame)
    first = identify(robot, empty)
    return first, _payload(first, empty, loaded, frame, body)


def identify_drive_gains(
    robot: Robot, empty: Sequence[JointSamples], loaded: Sequence[JointSamples], load: KnownLoad
) -> tuple[Identified, DriveGains]:
    """Identify drive gains with a known load, and the robot without the load at these gains.

    Args:
        robot: described robot without the load.
        empty, loaded: recordings without and with the load, efforts as reported.
        load: the known load.

    Raises:
        UnknownFrameError: no such frame.
        UnusableRecordingError: the load changes no joint torque, or the runs are interchanged.
    """
    body = _carrier(robot, load.frame)
    first = identify(robot, empty)
    gains = _gains(first, _Runs.of(first, empty, loaded), load, body)
    if not gains.told.any():
        raise UnusableRecordingError(
            f'no joint measures {load.mass:g} kg at {load.frame!r}: take a heavier load, '
            'or move the joints that carry it further'
        )
    opposite = gains.told & (np.sign(gains.gain) != np.sign(first.effort_model.scale))
    if opposite.any():
        odd = named(robot, opposite)
        center = ', '.join(f'{x:g}' for x in load.center)
        raise UnusableRecordingError(
            f'the robot seems to carry less with the load than without at {odd}: the last '
            'recording has to be the one with the load, and the centre of the load '
            f'({center} m in {load.frame!r}) has to be right'
        )
    return identify(robot, empty, scale=gains.gain), gains


def _carrier(robot: Robot, frame: str) -> int:
    """Index of the body that carries a load at a frame."""
    body = robot.model.frame(frame).body
    if body == ROOT:
        raise UnusableRecordingError(f'no joint moves {frame!r}, which the load is fixed to')
    return body


@dataclass(frozen=True, eq=False)
class _Runs:
    """Rows of two runs, one after the other, times the root of how much each counts.

    Attributes:
        equations: with the columns of base parameters and of modelled friction (nv, n, b + 5) as
            fixed ones, and those of friction beyond the model as random ones.
        direction: (nv, n) of the motion, 1 or -1 where it is fast.
        loaded: (n, 1) 1 for rows of the run with the load, else 0.
        drift: (nv, 5) how much friction may differ between the runs [as the friction of a fit].
    """

    equations: MixedEquations
    direction: Array
    loaded: Array
    drift: Array

    @classmethod
    def of(
        cls, first: Identified, empty: Sequence[JointSamples], loaded: Sequence[JointSamples]
    ) -> _Runs:
        """The rows of recordings, with the filters and the friction curve of an identification."""
        fit = first.fit
        positions = np.concatenate([samples.position for samples in (*empty, *loaded)])
        extremes = positions.min(axis=0), positions.max(axis=0)
        functions = UnmodelledFriction(*extremes, first.maker.friction_velocity)
        maker = replace(first.maker, further=lambda q, v, _: functions(q, v))
        chunks, counts = list[Chunk](), []
        for run in (empty, loaded):
            own = [chunk for samples in run for chunk in maker.chunks(samples)]
            own = own[:: 1 + sum(len(chunk.time) for chunk in own) // MAX_ROWS]
            counts.append(sum(len(chunk.time) for chunk in own))
            chunks += own
        rows = joined(Chunk, chunks)
        enough = (~rows.standing).sum(axis=0) >= MIN_MOVING_ROWS
        holds = fit.dry_friction / fit.sigma * enough * first.moved
        share = np.concatenate(
            [share_at_rest(holds * one.standing, one.standing.sum(axis=0)) for one in chunks]
        )
        root = np.sqrt(share)[..., np.newaxis]
        equations = MixedEquations(
            fixed=(np.concatenate([rows.inertial, rows.friction], axis=-1) * root).swapaxes(0, 1),
            random=(rows.further[..., :-1] * first.moved[:, np.newaxis] * root).swapaxes(0, 1),
            right=(rows.effort * root[..., 0]).T,
            level=np.where(share == 1.0, 1 + np.searchsorted(LEVELS, np.abs(rows.v)), 0).T,
            groups=GROUPS,
            precision=np.eye(0),
            pull=np.zeros(0),
            period=float(np.median(np.diff(rows.time))),
        )
        friction = np.abs(fit.friction)
        size = np.sqrt((first.train.measured**2).mean(axis=0))
        drift = DRIFT * friction + MIN_DRIFT * size[:, np.newaxis] + 1e-9
        drift[:, 1] += DRIFT * friction[:, 2]
        drift[:, 4] = DRIFT * friction[:, 4] + MIN_DRIFT
        with_load = np.repeat([0.0, 1.0], counts)[:, np.newaxis]
        return cls(equations, rows.further[..., -1].T, with_load, drift)


def _payload(
    first: Identified,
    empty: Sequence[JointSamples],
    loaded: Sequence[JointSamples],
    frame: str,
    body: int,
) -> Payload:
    """Payload from the unknowns of the robot, its friction, the drift of friction, and the load.

    Raises:
        UnusableRecordingError: the mass is unknown, or the runs are interchanged.
    """
    robot, maker, fit = first.robot, first.maker, first.fit
    layout, n, runs = fit.layout, fit.layout.count, _Runs.of(first, empty, loaded)
    equations, drift = runs.equations, runs.drift
    own, friction = np.split(equations.fixed, [len(maker.base)], axis=-1)
    into = maker.base.combination[:, 10 * body : 10 * body + 10] @ parameter_map(robot, frame)
    fixed = np.zeros((*equations.right.shape, n + drift.size + 10))
    fixed[..., : layout.inertial] = own @ maker.base.combination
    for joint, columns in enumerate(friction):
        place = layout.friction(joint)
        drifting = slice(place.start + drift.size, place.stop + drift.size)
        fixed[joint, :, place], fixed[joint, :, drifting] = columns, columns * runs.loaded
    fixed[..., -10:] = own @ into * runs.loaded
    precision = np.diag(np.concatenate([np.zeros(n), drift.ravel() ** -2.0, HEAVIEST**-2.0]))
    precision[:n, :n] = fit.prior.information
    pull = np.zeros(len(precision))
    pull[:n] = fit.prior.information @ fit.prior.mean
    # How far friction grows with the load is judged by a payload that was found without that.
    equations = replace(equations, fixed=fixed, precision=precision, pull=pull)
    x, _ = estimated(equations, fit.sigma)
    inertial = [*range(layout.inertial), *range(-10, 0)]
    grows = np.abs(fixed[..., inertial] @ x[inertial]) * runs.direction
    random = np.concatenate([equations.random, grows[..., np.newaxis]], axis=-1)
    equations = replace(equations, random=random, groups=np.append(GROUPS, GROUPS.max() + 1))
    x, covariance = estimated(equations, fit.sigma)
    pi, C = x[-10:], covariance[-10:, -10:]
    own_weight, of_unit = _own_weight(equations, x, fit.prior.mean[: layout.inertial], fit.sigma)
    mass = float(pi[0])
    center = np.array([float(x) for x in Inertia.from_array(pi).center]) if mass > 0.0 else pi[1:4]
    J = np.column_stack([-center, np.eye(3)]) / max(abs(mass), 1e-9)
    deviation = np.sqrt(np.maximum(np.diag(J @ C[:4, :4] @ J.T), 0.0))
    spread = float(np.hypot(np.sqrt(C[0, 0]), of_unit * mass))
    if mass < -LIGHT * np.sqrt(C[0, 0]):
        raise UnusableRecordingError(
            f'the robot carries {-mass:.2f} kg less with the payload than without: the last '
            'recording has to be the one with it; exchange the recordings, or repeat both runs'
        )
    if mass < LIGHT * spread:
        raise UnusableRecordingError(
            f'the two recordings differ by {mass:.3f} kg with a deviation of {spread:.3f} kg at '
            f'{frame!r}: no payload is determined; move the joints that carry it'
        )
    return Payload(frame, mass, center, spread, deviation, own_weight)


def _own_weight(
    equations: MixedEquations, x: Array, described: Array, sigma: Array
) -> tuple[float, float]:
    """Torques of the robot without payload over those of its description, by all joints.

    Another unit of efforts multiplies the robot and the payload by the same factor.

    Returns:
        Mean of the ratios, and their RMS difference from 1, weighted by what each joint tells of
        the payload.
    """
    own = equations.fixed[..., : len(described)]
    given, found = own @ described, own @ x[: len(described)]
    power = (given**2).sum(axis=1)
    weight = (((equations.fixed[..., -10:] @ x[-10:]) / sigma[:, np.newaxis]) ** 2).sum(axis=1)
    # A joint that carries little of the robot does not show its weight.
    weight = weight * (power > CARRIED**2 * (equations.right**2).sum(axis=1))
    if not weight.any():
        return 1.0, 0.0
    ratio = (given * found).sum(axis=1) / np.maximum(power, 1e-12)
    mean, square = (float(weight @ one / weight.sum()) for one in (ratio, (ratio - 1.0) ** 2))
    return mean, float(np.sqrt(square))


def _gains(first: Identified, runs: _Runs, load: KnownLoad, body: int) -> DriveGains:
    """Gains of all joints, in the order of the unknowns: base, friction, drift, 1 / gain."""
    fit, base, scale = first.fit, first.maker.base, first.effort_model.scale
    inertia = Inertia(load.mass, Vector3(*load.center), Matrix3.zero())
    known = parameter_map(first.robot, load.frame) @ inertia.array()
    carried = base.combination[:, 10 * body : 10 * body + 10] @ known
    K, p = base.combination, fit.layout.inertial
    usual = K @ fit.prior.mean[:p]
    open_ = OPEN**2 * (K @ fit.prior.covariance[:p, :p] @ K.T + np.outer(usual, usual))
    columns = runs.equations.fixed
    own, friction = np.split(columns, [len(base)], axis=-1)
    torque = (own @ carried)[..., np.newaxis] * runs.loaded
    fixed = np.concatenate([columns, friction * runs.loaded, torque], axis=-1)
    size = FRICTION_REACH * np.sqrt((first.train.measured**2).mean(axis=0))
    gain, deviation, b = scale.copy(), np.full(len(scale), np.inf), len(base)
    whole = replace(runs.equations, fixed=fixed, pull=np.zeros(fixed.shape[-1]))
    for j in range(len(scale)):
        reach = np.concatenate([np.full(len(FRICTION), size[j]), runs.drift[j]])
        precision = np.diag(np.concatenate([np.zeros(b), reach**-2.0, [1e-12]]))
        precision[:b, :b] = np.linalg.inv(open_)
        rows = {name: getattr(whole, name)[[j]] for name in ('fixed', 'random', 'right', 'level')}
        x, covariance = estimated(replace(whole, **rows, precision=precision), fit.sigma[[j]])
        # Efforts are converted by the scale of the identification: the unknown is scale / gain.
        ratio, spread = x[-1], np.sqrt(covariance[-1, -1])
        if spread < KNOWN * abs(ratio):
            gain[j], deviation[j] = scale[j] / ratio, abs(scale[j]) * spread / ratio**2
    return DriveGains(gain, deviation, np.isfinite(deviation))
