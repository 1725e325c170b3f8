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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.payload_identification import parameter_map
from dynamics_ros.model import ROOT
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Inertia, Matrix3, Vector3

from .equations import MIN_MOVING_ROWS
from .fit import FRICTION, share_at_rest
from .identify import Identified, identify
from .joint_states.samples import JointSamples, UnusableRecordingError
from .random_effects import GROUPS, MixedEquations, UnmodelledFriction, estimated

Array = NDArray[np.float64]

DRIFT, MIN_DRIFT = 0.2, 0.01
"""Friction that differs between two runs: part of the friction; of the RMS of the effort."""

LIGHT = 2.0
"""Deviations that a mass has to be off zero by."""

LEVELS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""rad/s or m/s between which residuals have one deviation: they are larger where joints turn."""

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
        parameters: inertial parameters (10) in the frame, about its origin.
        covariance: (10, 10) their covariance, without that of the unit of efforts.
        own_weight: weight of the robot by the recordings over that of its description, at the
            joints that tell the payload; not 1 if masses or the unit of efforts are not as
            described, so deviations of the mass include its difference from 1.
        unit_deviation: the part of the deviation of the mass that is of this difference, over the
            mass.
    """

    frame: str
    mass: float
    center_of_mass: Array
    mass_deviation: float
    center_of_mass_deviation: Array
    parameters: Array
    covariance: Array
    own_weight: float = 1.0
    unit_deviation: float = 0.0


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
    scale: Array | None = None,
) -> tuple[Identified, Payload]:
    """The empty robot, and what it holds in some of its recordings.

    Args:
        robot: as described, without the payload.
        empty, loaded: recordings of it without and with the payload.
        frame: what the payload is fixed to.
        scale: (nv) torque per unit of reported effort; None: it is estimated.

    Raises:
        UnknownFrameError: no such frame.
        UnusableRecordingError: no joint moves the frame, the mass is unknown, or the runs are
            interchanged.
    """
    body = _carrier(robot, frame)
    first = identify(robot, empty, scale=scale)
    payload = _payload(first, empty, loaded, frame, body)
    if payload.mass < -LIGHT * np.sqrt(payload.covariance[0, 0]):
        raise UnusableRecordingError(
            f'the robot carries {-payload.mass:.2f} kg less with the payload than without: the '
            'last recording has to be the one with it; exchange the recordings, or repeat both runs'
        )
    if payload.mass < LIGHT * payload.mass_deviation:
        raise UnusableRecordingError(
            f'the two recordings differ by {payload.mass:.3f} kg with a deviation of '
            f'{payload.mass_deviation:.3f} kg at {frame!r}: no payload is told; move the joints '
            'that carry it'
        )
    return first, payload


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
    gains = _gains(first, _Rows.of(first, empty, loaded), load, body)
    if not gains.told.any():
        raise UnusableRecordingError(
            f'no joint tells {load.mass:g} kg at {load.frame!r} from nothing: take a heavier load, '
            'or move the joints that carry it further'
        )
    opposite = gains.told & (np.sign(gains.gain) != np.sign(first.effort_model.scale))
    if opposite.any():
        odd = ', '.join(name for name, bad in zip(robot.joint_names, opposite, strict=True) if bad)
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
class _Rows:
    """Rows of two runs, one after the other.

    Attributes:
        inertial: (nv, n, b) columns of base parameters.
        friction: (nv, n, 5) columns of modelled friction.
        unmodelled: (nv, n, m) those of friction beyond the model.
        direction: (nv, n) of the motion, 1 or -1 where it is fast.
        effort: (nv, n) efforts times their scale.
        level: (nv, n) number of the speed between ``LEVELS``, from 1; 0 for joints at rest.
        share: (nv, n) how much a row counts, 1 while the joint moves.
        loaded: (n, 1) 1 for rows of the run with the load, else 0.
        period: of the rows [s].
        drift: (nv, 5) how much friction may differ between the runs [as the friction of a fit].
    """

    inertial: Array
    friction: Array
    unmodelled: Array
    direction: Array
    effort: Array
    level: NDArray[np.int64]
    share: Array
    loaded: Array
    period: float
    drift: Array

    @classmethod
    def of(
        cls, first: Identified, empty: Sequence[JointSamples], loaded: Sequence[JointSamples]
    ) -> _Rows:
        """The rows of recordings, with the filters and the friction curve of an identification."""
        fit = first.fit
        positions = np.concatenate([samples.position for samples in (*empty, *loaded)])
        extremes = positions.min(axis=0), positions.max(axis=0)
        functions = UnmodelledFriction(*extremes, first.maker.friction_velocity)
        maker = replace(first.maker, further=lambda q, v, _: functions(q, v))
        runs = []
        for run in (empty, loaded):
            chunks = [chunk for samples in run for chunk in maker.chunks(samples)]
            runs.append(chunks[:: 1 + sum(len(chunk.time) for chunk in chunks) // MAX_ROWS])
        chunks = [chunk for run in runs for chunk in run]
        enough = sum((~chunk.standing).sum(axis=0) for chunk in chunks) >= MIN_MOVING_ROWS
        holds = fit.dry_friction / fit.sigma * enough * first.moved
        shares = [share_at_rest(holds * c.standing, c.standing.sum(axis=0)) for c in chunks]

        def joined(parts: Iterable[Array]) -> Array:
            return np.concatenate(list(parts)).swapaxes(0, 1)

        further, share = joined(chunk.further for chunk in chunks), joined(shares)
        speed = np.abs(joined(chunk.v for chunk in chunks))
        friction = np.abs(fit.friction)
        size = np.sqrt((first.train.measured**2).mean(axis=0))
        drift = DRIFT * friction + MIN_DRIFT * size[:, np.newaxis] + 1e-9
        drift[:, 1] += DRIFT * friction[:, 2]
        drift[:, 4] = DRIFT * friction[:, 4] + MIN_DRIFT
        return cls(
            joined(chunk.inertial for chunk in chunks),
            joined(chunk.friction for chunk in chunks),
            further[..., :-1] * first.moved[:, np.newaxis, np.newaxis],
            further[..., -1],
            joined(chunk.effort for chunk in chunks),
            np.where(share == 1.0, 1 + np.searchsorted(LEVELS, speed), 0),
            share,
            np.repeat([0.0, 1.0], [sum(len(c.time) for c in run) for run in runs])[:, np.newaxis],
            float(np.median(np.diff(np.concatenate([chunk.time for chunk in chunks])))),
            drift,
        )

    def equations(
        self, fixed: Array, precision: Array, pull: Array, further: Array | None = None
    ) -> MixedEquations:
        """Equations with columns (nv, n, N) of unknowns that have a prior.

        Args:
            fixed: the columns.
            precision, pull: (N, N), (N) of the prior.
            further: (nv, n) column of one more random effect, which has a variance of its own.
        """
        random, groups, root = self.unmodelled, GROUPS, np.sqrt(self.share)[..., np.newaxis]
        if further is not None:
            random = np.concatenate([random, further[..., np.newaxis]], axis=-1)
            groups = np.append(groups, groups.max() + 1)
        effort = self.effort * root[..., 0]
        return MixedEquations(
            fixed * root, random * root, effort, self.level, groups, precision, pull, self.period
        )


def _payload(
    first: Identified,
    empty: Sequence[JointSamples],
    loaded: Sequence[JointSamples],
    frame: str,
    body: int,
) -> Payload:
    """Payload from the unknowns of the robot, its friction, the drift of friction, and the load."""
    robot, maker, fit = first.robot, first.maker, first.fit
    layout, n, rows = fit.layout, fit.layout.count, _Rows.of(first, empty, loaded)
    into = maker.base.combination[:, 10 * body : 10 * body + 10] @ parameter_map(robot, frame)
    fixed = np.zeros((*rows.effort.shape, n + rows.drift.size + 10))
    fixed[..., : layout.inertial] = rows.inertial @ maker.base.combination
    for joint, friction in enumerate(rows.friction):
        own = layout.friction(joint)
        drifting = slice(own.start + rows.drift.size, own.stop + rows.drift.size)
        fixed[joint, :, own], fixed[joint, :, drifting] = friction, friction * rows.loaded
    fixed[..., -10:] = rows.inertial @ into * rows.loaded
    precision = np.diag(np.concatenate([np.zeros(n), rows.drift.ravel() ** -2.0, HEAVIEST**-2.0]))
    precision[:n, :n] = fit.prior.information
    pull = np.zeros(len(precision))
    pull[:n] = fit.prior.information @ fit.prior.mean
    # How far friction grows with the load is judged by a payload that was found without that.
    x, _ = estimated(rows.equations(fixed, precision, pull), fit.sigma)
    inertial = [*range(layout.inertial), *range(-10, 0)]
    grows = np.abs(fixed[..., inertial] @ x[inertial]) * rows.direction
    equations = rows.equations(fixed, precision, pull, grows)
    x, covariance = estimated(equations, fit.sigma)
    pi, C = x[-10:], covariance[-10:, -10:]
    own_weight, of_unit = _own_weight(equations, x, fit.prior.mean[: layout.inertial], fit.sigma)
    mass = float(pi[0])
    center = np.array([float(x) for x in Inertia.from_array(pi).center]) if mass > 0.0 else pi[1:4]
    J = np.column_stack([-center, np.eye(3)]) / max(abs(mass), 1e-9)
    deviation = np.sqrt(np.maximum(np.diag(J @ C[:4, :4] @ J.T), 0.0))
    spread = float(np.hypot(np.sqrt(C[0, 0]), of_unit * mass))
    return Payload(frame, mass, center, spread, deviation, pi, C, own_weight, of_unit)


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


def _gains(first: Identified, rows: _Rows, load: KnownLoad, body: int) -> DriveGains:
    """Gains of all joints, in the order of the unknowns: base, friction, drift, 1 / gain."""
    fit, base, scale = first.fit, first.maker.base, first.effort_model.scale
    inertia = Inertia(load.mass, Vector3(*load.center), Matrix3.zero())
    known = parameter_map(first.robot, load.frame) @ inertia.array()
    carried = base.combination[:, 10 * body : 10 * body + 10] @ known
    K, p = base.combination, fit.layout.inertial
    usual = K @ fit.prior.mean[:p]
    open_ = OPEN**2 * (K @ fit.prior.covariance[:p, :p] @ K.T + np.outer(usual, usual))
    torque = (rows.inertial @ carried * rows.loaded[:, 0])[..., np.newaxis]
    fixed = [rows.inertial, rows.friction, rows.friction * rows.loaded, torque]
    size = FRICTION_REACH * np.sqrt((first.train.measured**2).mean(axis=0))
    gain, deviation, b = scale.copy(), np.full(len(scale), np.inf), len(base)
    nothing = np.zeros(b + 2 * len(FRICTION) + 1)
    whole = rows.equations(np.concatenate(fixed, axis=-1), np.diag(nothing), nothing)
    for j in range(len(scale)):
        friction = np.concatenate([np.full(len(FRICTION), size[j]), rows.drift[j]])
        precision = np.diag(np.concatenate([np.zeros(b), friction**-2.0, [1e-12]]))
        precision[:b, :b] = np.linalg.inv(open_)
        own = {name: getattr(whole, name)[[j]] for name in ('fixed', 'random', 'right', 'level')}
        x, covariance = estimated(replace(whole, **own, precision=precision), fit.sigma[[j]])
        # Efforts are converted by the scale of the identification: the unknown is scale / gain.
        ratio, spread = x[-1], np.sqrt(covariance[-1, -1])
        if spread < KNOWN * abs(ratio):
            gain[j], deviation[j] = scale[j] / ratio, abs(scale[j]) * spread / ratio**2
    return DriveGains(gain, deviation, np.isfinite(deviation))
