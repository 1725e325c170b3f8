# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs without and with a load: what a robot holds ([Atkeson1986]), or the gains of its drives.

Both runs are solved at once (``payload_identification.solve``), so that what the empty run leaves
open of the robot widens the deviations. Unknowns of all joints are the base parameters of the robot
and the load; of one joint its friction, how much that differs between the runs, as with
temperature, and friction that the model lacks. Gears have ripple over the position, and dry
friction that changes with it, which does not average out over time as noise does:

    sum_k (a_k + b_k tanh(v/v_f)) cos(2 pi k x) + (c_k + d_k tanh(v/v_f)) sin(2 pi k x),

with x the position over the range of the recordings, the same in both runs: a Gaussian process by
its features [RasmussenWilliams2006].

If the load is known, each joint is solved separately, with base parameters of its own in reported
units, because a model with unknown masses fits efforts in any unit. Its efforts are

    Y phi + friction                          without the load,
    Y phi + friction + drift + Y_load / gain  with it,

where the torque Y_load of the load is known. The common terms of both runs do not affect the gain,
so it does not depend on the masses of the description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.payload_identification import (
    OBSERVABLE_MASS,
    PRIOR,
    PayloadEstimate,
    Solution,
    estimate_of,
    parameter_map,
    solve,
)
from dynamics_ros.model import ROOT
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Inertia, Matrix3, Vector3

from .deviations import memory_of
from .equations import MIN_MOVING_ROWS, Chunk
from .evaluation import Identified
from .fit import inverse
from .identify import identify
from .joint_states.joint_matching import named
from .joint_states.samples import JointSamples, UnusableRecordingError, joined

Array = NDArray[np.float64]

DRIFT, MIN_DRIFT = 0.2, 0.01
"""Friction that differs between two runs: part of the friction; of the RMS of the effort."""

LIGHT = 2.0
"""Deviations that a mass has to be off zero by."""

LEVELS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""rad/s or m/s between which residuals have one deviation: they are larger where joints turn. With
one deviation for all speeds, masses are off by up to 9.6 instead of 1.0 %."""

HARMONICS, WIDER, MIN_RANGE = 20, 1.25, 0.2
"""Waves over the range of a joint, the shortest one; the longest over the range of the positions,
so that both ends may differ; least range [rad or m]."""

WAVES = 0.3
"""Prior deviation of the coefficient of a wave, over the RMS residual of the joint. With 0.05,
errors are 1.26 times the stated deviations on an arm whose ripple has four times its noise."""

CARRIED = 0.3
"""Least share of its own weight in the efforts of a joint that shows the unit of efforts."""

MAX_ROWS = 5000
"""Of a run, beyond which more rows tell little of a load."""

KNOWN = 0.1
"""A gain is identified if its standard deviation is below this fraction of it."""

OPEN = 2.0
"""Prior deviation of base parameters in reported units from the described ones, over that of the
identification prior."""

MAX_INVERSE = 100.0
"""Prior deviation of the inverse of a gain, over its scale."""


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
) -> tuple[Identified, PayloadEstimate]:
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
    carrier = _carrier(robot, frame)
    first = identify(robot, empty)
    return first, _payload(_Runs.of(first, empty, loaded, carrier), frame)


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
    carrier = _carrier(robot, load.frame)
    first = identify(robot, empty)
    gains = _gains(_Runs.of(first, empty, loaded, carrier), load)
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


def _carrier(robot: Robot, frame: str) -> Array:
    """Map (n, 10) from parameters of a load in a frame to those of all bodies and rotors."""
    body = robot.model.frame(frame).body
    if body == ROOT:
        raise UnusableRecordingError(f'no joint moves {frame!r}, which the load is fixed to')
    into = np.zeros((10 * len(robot.body_names) + robot.nv, 10))
    into[10 * body : 10 * body + 10] = parameter_map(robot, frame)
    return into


class _Runs(NamedTuple):
    """Rows of two runs, one after the other.

    Attributes:
        first: the identification of the empty robot.
        base: (nv, n, b) columns of base parameters.
        load: (nv, n, 10) columns of the parameters of the load.
        own: (nv, n, m) columns of friction, its drift and waves, times prior deviations.
        effort: (nv, n) scaled efforts.
        right: (nv, n) the same without described friction.
        level: (nv, n) noise level of each row; 0 at rest, where a row is left out.
        memory: largest correlation time of residuals [rows].
    """

    first: Identified
    base: Array
    load: Array
    own: Array
    effort: Array
    right: Array
    level: NDArray[np.int64]
    memory: int

    @classmethod
    def of(
        cls,
        first: Identified,
        empty: Sequence[JointSamples],
        loaded: Sequence[JointSamples],
        carrier: Array,
    ) -> _Runs:
        """The rows of recordings, with the filters and the friction curve of an identification."""
        fit, layout = first.fit, first.fit.layout
        position = np.concatenate([samples.position for samples in (*empty, *loaded)])
        low, high = position.min(axis=0), position.max(axis=0)
        longest = WIDER * np.maximum(high - low, MIN_RANGE)
        further = partial(_waves, 0.5 * (low + high), longest, first.maker.friction_velocity)
        maker = replace(first.maker, further=further)
        chunks, with_load = list[Chunk](), list[float]()
        for number, run in enumerate((empty, loaded)):
            own = [chunk for samples in run for chunk in maker.chunks(samples)]
            own = own[:: 1 + sum(len(chunk.time) for chunk in own) // MAX_ROWS]
            with_load += [number] * sum(len(chunk.time) for chunk in own)
            chunks += own
        rows, on = joined(Chunk, chunks), np.array(with_load, dtype=float)[:, np.newaxis]
        enough = (~rows.standing).sum(axis=0) >= MIN_MOVING_ROWS
        # Static friction of a joint at rest may have any value.
        used = ~(rows.standing & enough & first.moved)
        friction = np.abs(fit.friction)
        size = np.sqrt((first.train.measured**2).mean(axis=0))
        drift = DRIFT * friction + MIN_DRIFT * size[:, np.newaxis] + 1e-9
        drift[:, 1] += DRIFT * friction[:, 2]
        drift[:, 4] = DRIFT * friction[:, 4] + MIN_DRIFT
        information = fit.prior.information
        priors = [information[x, x] for x in map(layout.friction, range(layout.joints))]
        base, columns = (x.swapaxes(0, 1) for x in (rows.inertial, rows.friction))
        waves = rows.further.swapaxes(0, 1)
        scale = WAVES * (fit.sigma * first.moved)[:, np.newaxis, np.newaxis]
        scaled = columns @ np.linalg.cholesky(list(map(inverse, priors)))
        effort = rows.effort.T
        described = layout.friction_of(fit.prior.mean)[..., np.newaxis]
        return cls(
            first,
            base,
            base @ (first.maker.base.combination @ carrier) * on,
            np.concatenate([scaled, columns * on * drift[:, np.newaxis], waves * scale], axis=-1),
            effort,
            effort - (columns @ described)[..., 0],
            (used * (1 + np.searchsorted(LEVELS, np.abs(rows.v)))).T,
            memory_of(float(np.median(np.diff(rows.time)))),
        )

    def solved(
        self, joints: slice, mean: Array, covariance: Array, load: Array
    ) -> tuple[Array, Solution]:
        """Base parameters (b), and the solution; its last shared unknowns are those of the load.

        Args:
            joints: whose equations are solved.
            mean, covariance: (b), (b, b) prior of the base parameters.
            load: (joints, n, k) columns of the load, times prior deviations.
        """
        values, vectors = np.linalg.eigh(covariance)
        root, base = vectors * np.sqrt(np.maximum(values, 0.0)), self.base[joints]
        found = solve(
            np.concatenate([base @ root, load], axis=-1),
            self.own[joints],
            self.right[joints] - base @ mean,
            self.first.fit.sigma[joints],
            level=self.level[joints],
            memory=self.memory,
        )
        return mean + root @ found.shared[: len(mean)], found


def _waves(middle: Array, longest: Array, velocity: float, q: Array, v: Array, _: Array) -> Array:
    """(..., nv, m) the functions at q, v (..., nv); longest waves about the middles (nv each)."""
    x = (q - middle) / longest
    angle = 2.0 * np.pi * x[..., np.newaxis] * np.arange(1, HARMONICS + 1)
    waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)
    return np.concatenate([waves, np.tanh(v / velocity)[..., np.newaxis] * waves], axis=-1)


def _payload(runs: _Runs, frame: str) -> PayloadEstimate:
    """Payload in a frame.

    Raises:
        UnusableRecordingError: the mass is unknown, or the runs are interchanged.
    """
    fit, K = runs.first.fit, runs.first.maker.base.combination
    p = fit.layout.inertial
    described = K @ fit.prior.mean[:p]
    covariance = K @ inverse(fit.prior.information[:p, :p]) @ K.T
    base, found = runs.solved(slice(None), described, covariance, runs.load * PRIOR)
    last = slice(len(base), len(base) + 10)
    pi, C = PRIOR * found.shared[last], found.covariance[0, last, last] * np.outer(PRIOR, PRIOR)
    own_weight, of_unit = _own_weight(runs, base, described, pi)
    mass, deviation = float(pi[0]), float(np.sqrt(C[0, 0]))
    spread = float(np.hypot(deviation, of_unit * mass))
    if mass < -LIGHT * deviation:
        raise UnusableRecordingError(
            f'the robot carries {-mass:.2f} kg less with the payload than without: the last '
            'recording has to be the one with it; exchange the recordings, or repeat both runs'
        )
    if mass < LIGHT * spread:
        raise UnusableRecordingError(
            f'the two recordings differ by {mass:.3f} kg with a deviation of {spread:.3f} kg at '
            f'{frame!r}: no payload is determined; move the joints that carry it'
        )
    counted = runs.level > 0
    residual = float(np.sqrt((found.residual**2).sum() / counted.sum()))
    estimate = estimate_of(frame, pi, C, residual, int(counted.any(axis=0).sum()))
    observable = spread < OBSERVABLE_MASS * mass
    return replace(
        estimate, mass_deviation=spread, mass_observable=observable, own_weight=own_weight
    )


def _own_weight(runs: _Runs, base: Array, described: Array, pi: Array) -> tuple[float, float]:
    """Torques of the robot without payload over those of its description, by all joints.

    Another unit of efforts multiplies the robot and the payload by the same factor.

    Args:
        runs: the rows.
        base, described: (b) base parameters.
        pi: (10) parameters of the payload.

    Returns:
        Mean of the ratios, and their RMS difference from 1, weighted by what each joint tells of
        the payload.
    """
    given, power = runs.base @ described, ((runs.base @ described) ** 2).sum(axis=1)
    weight = ((runs.load @ pi) ** 2).sum(axis=1) / runs.first.fit.sigma**2
    # A joint that carries little of the robot does not show its weight.
    weight = weight * (power > CARRIED**2 * (runs.effort**2).sum(axis=1))
    if not weight.any():
        return 1.0, 0.0
    ratio = (given * (runs.base @ base)).sum(axis=1) / np.maximum(power, 1e-12)
    mean, square = (float(weight @ one / weight.sum()) for one in (ratio, (ratio - 1.0) ** 2))
    return mean, float(np.sqrt(square))


def _gains(runs: _Runs, load: KnownLoad) -> DriveGains:
    """Gains of all joints."""
    fit, K, scale = runs.first.fit, runs.first.maker.base.combination, runs.first.maker.scale
    p, inertia = fit.layout.inertial, Inertia(load.mass, Vector3(*load.center), Matrix3.zero())
    carried = runs.load @ inertia.array()
    usual = K @ fit.prior.mean[:p]
    open_ = OPEN**2 * (K @ fit.prior.covariance[:p, :p] @ K.T + np.outer(usual, usual))
    gain, deviation = scale.copy(), np.full(len(scale), np.inf)
    for j in range(len(scale)):
        # Efforts are converted by the scale of the identification: the unknown is scale / gain.
        column = MAX_INVERSE * carried[j][np.newaxis, :, np.newaxis]
        _, found = runs.solved(slice(j, j + 1), 0.0 * usual, open_, column)
        last = len(usual)
        ratio = MAX_INVERSE * found.shared[last]
        spread = MAX_INVERSE * np.sqrt(found.covariance[0, last, last])
        if spread < KNOWN * abs(ratio):
            gain[j], deviation[j] = scale[j] / ratio, abs(scale[j]) * spread / ratio**2
    return DriveGains(gain, deviation, np.isfinite(deviation))
