# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a robot holds, from a recording with it and one without ([Atkeson1986]).

The parameters of the robot, of its friction, and of the payload are fitted to both recordings at
once, so that what the empty run does not tell of the robot widens the deviations of the payload.
Friction may differ between the runs, as it does with temperature, and grow with the load. What it
has beyond the model, such as ripple of gears, is a random effect that both runs share: the more of
it the recordings show, the less their residuals tell of the payload.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.payload_identification import parameter_map
from dynamics_ros.model import ROOT
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Inertia

from .deviations import factors_of
from .equations import MIN_MOVING_ROWS, Chunk
from .fit import dry_friction, share_at_rest
from .identify import Identified, identify
from .joint_states.samples import JointSamples, UnusableRecordingError
from .prior import PRIOR_WEIGHT
from .random_effects import MixedEquations, UnmodelledFriction, estimated, groups

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
"""Of a run, beyond which more rows tell little of a payload."""


@dataclass(frozen=True, eq=False)
class Payload:
    """What a robot holds.

    Attributes:
        frame: that it is given in.
        mass: kg.
        center_of_mass: (3) in the frame [m].
        mass_deviation, center_of_mass_deviation: standard deviations.
        swapped: whether the first recordings were those with it.
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
    swapped: bool
    parameters: Array
    covariance: Array
    own_weight: float = 1.0
    unit_deviation: float = 0.0


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
        empty, loaded: recordings of it without and with the payload; the other way round is seen by
            a negative mass, and told.
        frame: what the payload is fixed to.
        scale: (nv) torque per unit of reported effort; None: it is estimated.

    Raises:
        UnknownFrameError: no such frame.
        UnusableRecordingError: no joint moves the frame, or nothing is told of the mass.
    """
    first = identify(robot, empty, scale=scale)
    payload = _payload(first, empty, loaded, frame, False)
    if payload.mass < 0.0:
        first = identify(robot, loaded, scale=scale)
        payload = _payload(first, loaded, empty, frame, True)
    if payload.mass < LIGHT * payload.mass_deviation:
        raise UnusableRecordingError(
            f'the two recordings differ by {payload.mass:.3f} kg with a deviation of '
            f'{payload.mass_deviation:.3f} kg at {frame!r}: no payload is told; move the joints '
            'that carry it'
        )
    return first, payload


def drift_of_friction(identified: Identified) -> Array:
    """(nv, 5) by how much friction may differ between two runs [as the friction of a fit]."""
    friction = np.abs(identified.fit.friction)
    size = np.sqrt((identified.train.measured**2).mean(axis=0))
    spread: Array = DRIFT * friction + MIN_DRIFT * size[:, np.newaxis] + 1e-9
    spread[:, 1] += DRIFT * friction[:, 2]
    spread[:, 4] = DRIFT * friction[:, 4] + MIN_DRIFT
    return spread


def _payload(
    identified: Identified,
    empty: Sequence[JointSamples],
    loaded: Sequence[JointSamples],
    frame: str,
    swapped: bool,
) -> Payload:
    robot, fit = identified.robot, identified.fit
    body = robot.model.frame(frame).body
    if body == ROOT:
        raise UnusableRecordingError(f'no joint moves {frame!r}, which the payload is fixed to')
    runs = _Runs.of(identified, empty, loaded)
    equations = _equations(identified, runs, frame)

    def memory(left: Array) -> Array:
        return factors_of(left.T, (equations.level >= 0).T, runs.period)

    # How far friction grows with the load is judged by a payload that was found without that.
    x, _ = estimated(equations, fit.sigma, memory)
    inertial = [*range(fit.layout.inertial), *range(-10, 0)]
    carried = np.abs(equations.fixed[..., inertial] @ x[inertial])
    with_load = equations.with_effect(carried * runs.direction)
    x, covariance = estimated(with_load, fit.sigma, memory)
    pi = x[-10:]
    own_weight, of_unit = _own_weight(with_load, x, fit.prior.mean, fit.layout.inertial, fit.sigma)
    C = covariance[-10:, -10:]
    mass = float(pi[0])
    center = np.array([float(x) for x in Inertia.from_array(pi).center]) if mass > 0.0 else pi[1:4]
    J = np.column_stack([-center, np.eye(3)]) / max(abs(mass), 1e-9)
    deviation = np.sqrt(np.maximum(np.diag(J @ C[:4, :4] @ J.T), 0.0))
    unit_deviation = float(np.sqrt(of_unit))
    spread = float(np.hypot(np.sqrt(C[0, 0]), unit_deviation * mass))
    return Payload(
        frame, mass, center, spread, deviation, swapped, pi, C, own_weight, unit_deviation
    )


def _own_weight(
    equations: MixedEquations, x: Array, described: Array, inertial: int, sigma: Array
) -> tuple[float, float]:
    """Torques of the robot without payload over those of its description, by all joints.

    Another unit of efforts multiplies the robot and the payload by the same factor.

    Returns:
        Mean of the ratios, and their mean square difference from 1, weighted by what each joint
        tells of the payload.
    """
    own = equations.fixed[..., :inertial]
    given, found = own @ described[:inertial], own @ x[:inertial]
    power = (given**2).sum(axis=1)
    weight = (((equations.fixed[..., -10:] @ x[-10:]) / sigma[:, np.newaxis]) ** 2).sum(axis=1)
    # A joint that carries little of the robot does not show its weight.
    weight = weight * (power > CARRIED**2 * (equations.right**2).sum(axis=1))
    if not weight.any():
        return 1.0, 0.0
    ratio = (given * found).sum(axis=1) / np.maximum(power, 1e-12)
    mean = float(weight @ ratio / weight.sum())
    return mean, float(weight @ (ratio - 1.0) ** 2 / weight.sum())


@dataclass(frozen=True, eq=False)
class _Runs:
    """Rows of two runs, one after the other.

    Attributes:
        inertial: (nv, n, b) columns of base parameters.
        friction: (nv, n, 5) columns of modelled friction.
        unmodelled: (nv, n, m) those of friction beyond the model.
        direction: (nv, n) of the motion, 1 or -1 where it is fast.
        effort: (nv, n).
        speed: (nv, n) [rad/s or m/s].
        share: (nv, n) how much a row counts, 1 while the joint moves.
        loaded: (n) whether it is of the run with the payload.
        period: of the rows [s].
    """

    inertial: Array
    friction: Array
    unmodelled: Array
    direction: Array
    effort: Array
    speed: Array
    share: Array
    loaded: NDArray[np.bool_]
    period: float

    @classmethod
    def of(
        cls, identified: Identified, empty: Sequence[JointSamples], loaded: Sequence[JointSamples]
    ) -> _Runs:
        """The rows of recordings."""
        fit = identified.fit
        positions = np.concatenate([samples.position for samples in (*empty, *loaded)])
        extremes = positions.min(axis=0), positions.max(axis=0)
        functions = UnmodelledFriction(*extremes, identified.maker.friction_velocity)
        maker = replace(identified.maker, further=lambda q, v, _: functions(q, v))
        runs = [_thinned([c for s in part for c in maker.chunks(s)]) for part in (empty, loaded)]
        chunks = [chunk for run in runs for chunk in run]
        enough = sum((~chunk.standing).sum(axis=0) for chunk in chunks) >= MIN_MOVING_ROWS
        holds = dry_friction(fit.friction, fit.loads) / fit.sigma * enough * identified.moved
        shares = []
        for chunk in chunks:
            standing = chunk.standing
            at_rest = share_at_rest(holds * standing, standing.sum(axis=0))
            shares.append(at_rest * ~chunk.cut_off)

        def joined(parts: Iterable[Array]) -> Array:
            return np.concatenate(list(parts)).swapaxes(0, 1)

        further = joined(chunk.further for chunk in chunks)
        return cls(
            joined(chunk.inertial for chunk in chunks),
            joined(chunk.friction for chunk in chunks),
            further[..., :-1],
            further[..., -1],
            joined(chunk.effort for chunk in chunks),
            np.abs(joined(chunk.v for chunk in chunks)),
            joined(shares),
            np.repeat([False, True], [sum(len(c.time) for c in run) for run in runs]),
            float(np.median(np.diff(np.concatenate([chunk.time for chunk in chunks])))),
        )


def _thinned(chunks: list[Chunk]) -> list[Chunk]:
    """Every second chunk, or third and so on, of a run that has more rows than are needed."""
    rows = sum(len(chunk.time) for chunk in chunks)
    return chunks[:: 1 + rows // MAX_ROWS]


def _equations(identified: Identified, runs: _Runs, frame: str) -> MixedEquations:
    """The unknowns of the robot, what friction is off by in the loaded run, and the payload."""
    robot, maker, fit = identified.robot, identified.maker, identified.fit
    layout, n = fit.layout, fit.layout.count
    body = robot.model.frame(frame).body
    into = maker.base.combination[:, 10 * body : 10 * body + 10] @ parameter_map(robot, frame)
    drift, k = n - layout.inertial, runs.friction.shape[-1]
    fixed = np.zeros((*runs.effort.shape, n + drift + 10))
    fixed[..., : layout.inertial] = runs.inertial @ maker.base.combination
    for joint in range(layout.joints):
        first = layout.friction(joint).start
        fixed[joint, :, first : first + k] = runs.friction[joint]
        # In the loaded run friction drifts, and the payload moves base parameters.
        first += drift
        fixed[joint, :, first : first + k] = runs.friction[joint] * runs.loaded[:, np.newaxis]
    fixed[..., n + drift :] = runs.inertial @ into * runs.loaded[:, np.newaxis]
    precision, pull = np.zeros((n + drift + 10,) * 2), np.zeros(n + drift + 10)
    prior = fit.prior.precision + PRIOR_WEIGHT * fit.prior.divergence
    precision[:n, :n], pull[:n] = prior, prior @ fit.prior.mean
    # A payload of a hundred kg is none; it keeps what is not told finite.
    far = np.array([100.0, *3 * [30.0], *6 * [10.0]])
    known = np.concatenate([drift_of_friction(identified).ravel(), far])
    precision[n:, n:] = np.diag(1.0 / known**2)
    root, moves = np.sqrt(runs.share), runs.share == 1.0
    return MixedEquations(
        fixed * root[..., np.newaxis],
        runs.unmodelled * (root * identified.moved[:, np.newaxis])[..., np.newaxis],
        runs.effort * root,
        np.where(moves, np.searchsorted(LEVELS, runs.speed), -1),
        groups(),
        precision,
        pull,
    )
