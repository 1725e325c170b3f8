# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a robot holds, from a recording with it and one without ([Atkeson1986]).

The parameters of the robot, of its friction, and of the payload are fitted to both recordings at
once, so that what the empty run does not tell of the robot widens the deviations of the payload.
Friction may differ between the runs, as it does with temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.payload_identification import parameter_map
from dynamics_ros.model import ROOT
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Inertia

from .deviations import correlation_factors
from .equations import Equations
from .identify import Identified, identify
from .joint_states.samples import JointSamples, UnusableRecordingError
from .normal_equations import Sums, grams

Array = NDArray[np.float64]

DRIFT, LEAST_DRIFT = 0.2, 0.01
"""Friction that differs between two runs: part of the friction; of the RMS of the effort."""

LIGHT = 2.0
"""Deviations that a mass has to be off zero by."""


@dataclass(frozen=True, eq=False)
class Payload:
    """What a robot holds.

    Attributes:
        frame: that it is given in.
        mass: kg.
        center_of_mass: (3) in the frame [m].
        mass_deviation, center_of_mass_deviation: standard deviations.
        swapped: whether the first recordings were those with it.
    """

    frame: str
    mass: float
    center_of_mass: Array
    mass_deviation: float
    center_of_mass_deviation: Array
    swapped: bool


def identify_with_payload(
    robot: Robot, empty: Sequence[JointSamples], loaded: Sequence[JointSamples], frame: str
) -> tuple[Identified, Payload]:
    """The empty robot, and what it holds in some of its recordings.

    Args:
        robot: as described, without the payload.
        empty, loaded: recordings of it without and with the payload; the other way round is seen by
            a negative mass, and told.
        frame: what the payload is fixed to.

    Raises:
        UnknownFrameError: no such frame.
        UnusableRecordingError: no joint moves the frame, or nothing is told of the mass.
    """
    first = identify(robot, empty)
    payload = _payload(first, empty, loaded, frame, False)
    if payload.mass < 0.0:
        first = identify(robot, loaded)
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
    spread: Array = DRIFT * friction + LEAST_DRIFT * size[:, np.newaxis] + 1e-9
    spread[:, 1] += DRIFT * friction[:, 2]
    spread[:, 4] = DRIFT * friction[:, 4] + LEAST_DRIFT
    return spread


def _payload(
    identified: Identified,
    empty: Sequence[JointSamples],
    loaded: Sequence[JointSamples],
    frame: str,
    swapped: bool,
) -> Payload:
    robot, maker, fit = identified.robot, identified.maker, identified.fit
    layout, n = fit.layout, fit.layout.count
    body = robot.model.frame(frame).body
    if body == ROOT:
        raise UnusableRecordingError(f'no joint moves {frame!r}, which the payload is fixed to')
    into = maker.base.combination[:, 10 * body : 10 * body + 10] @ parameter_map(robot, frame)
    factors = correlation_factors(identified.train)
    noise = fit.sigma**2 * factors
    runs = [Equations.joined([maker.equations(s) for s in part]) for part in (empty, loaded)]
    systems = []
    for equations in runs:
        weights = fit.weights_of(equations, identified.moved) / noise[:, np.newaxis]
        gram = grams(equations, weights, np.ones(len(equations.begins), dtype=bool))
        systems.append(Sums.of(layout, gram).assembled(fit.shape))
    (H_empty, g_empty, _), (H_loaded, g_loaded, _) = systems
    # Unknowns: those of the robot, what friction is off by in the loaded run, the payload.
    drift, own = n - layout.inertial, slice(layout.inertial, n)
    H = np.zeros((n + drift + 10,) * 2)
    g = np.zeros(n + drift + 10)
    prior = fit.prior.precision + fit.prior_weight * fit.prior.divergence
    H[:n, :n] = H_empty + prior
    g[:n] = g_empty + prior @ fit.prior.mean
    # In the loaded run friction drifts, and the payload moves base parameters.
    lift = np.zeros((n, n + drift + 10))
    lift[:, :n] = np.eye(n)
    lift[own, n : n + drift] = np.eye(drift)
    inverse = np.linalg.pinv(maker.base.combination)
    lift[: layout.inertial, n + drift :] = inverse @ into
    H += lift.T @ H_loaded @ lift
    g += lift.T @ g_loaded
    spread = drift_of_friction(identified)
    places = np.arange(n, n + drift)
    H[places, places] += 1.0 / spread.ravel() ** 2
    # A payload of a hundred kg is none; it keeps what is not told finite.
    far = np.array([100.0, *3 * [30.0], *6 * [10.0]])
    tail = np.arange(n + drift, n + drift + 10)
    H[tail, tail] += 1.0 / far**2
    scale = 1.0 / np.sqrt(np.diag(H))
    covariance = np.linalg.inv(H * np.outer(scale, scale)) * np.outer(scale, scale)
    pi, C = (covariance @ g)[tail], covariance[np.ix_(tail, tail)]
    mass = float(pi[0])
    center = np.array([float(x) for x in Inertia.from_array(pi).center]) if mass > 0.0 else pi[1:4]
    J = np.column_stack([-center, np.eye(3)]) / max(abs(mass), 1e-9)
    told = np.sqrt(np.maximum(np.diag(J @ C[:4, :4] @ J.T), 0.0))
    return Payload(frame, mass, center, float(np.sqrt(C[0, 0])), told, swapped)
