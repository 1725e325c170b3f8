# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a unit of reported effort is in Nm, from runs with and without a known load.

A model with free masses explains efforts in any unit, so each joint is fitted by itself, with base
parameters of its own, in reported units: its efforts are

    Y phi + friction                          without the load,
    Y phi + friction + drift + Y_load / gain  with it,

where Y_load, the torque that the load takes, is known. Whatever both runs have in common cannot be
taken for the load, so the gain does not depend on the masses of the description.
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

from .deviations import correlation_factors
from .equations import Equations
from .identify import Identified, identify
from .joint_states.samples import JointSamples, UnusableRecordingError
from .payload import drift_of_friction

Array = NDArray[np.float64]

TOLD = 0.1
"""A gain is told when its deviation is below this part of it."""

OPEN = 2.0
"""How far base parameters may be from described ones, over what is open without a recording."""


@dataclass(frozen=True)
class KnownLoad:
    """A load that has been weighed.

    Attributes:
        frame: that it is fixed to.
        mass: kg.
        center: its centre of mass in the frame [m].
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
    """How many Nm, or N, a unit of reported effort is.

    Attributes:
        gain: (nv); negative where efforts count the other way round.
        deviation: (nv) its standard deviation; inf where the load does not tell it.
        told: (nv) whether the load tells it; otherwise the description does.
    """

    gain: Array
    deviation: Array
    told: NDArray[np.bool_]


def identify_drive_gains(
    robot: Robot, empty: Sequence[JointSamples], loaded: Sequence[JointSamples], load: KnownLoad
) -> tuple[Identified, DriveGains]:
    """The empty robot at gains that a known load tells.

    Args:
        robot: as described, without the load.
        empty, loaded: recordings of it without and with the load, efforts as reported.
        load: what is known of it.

    Raises:
        UnknownFrameError: no such frame.
        UnusableRecordingError: no joint feels the load, or the runs are in the other order.
    """
    body = robot.model.frame(load.frame).body
    if body == ROOT:
        raise UnusableRecordingError(f'no joint moves {load.frame!r}, which the load is fixed to')
    first = identify(robot, empty)
    gains = _gains(first, empty, loaded, load, body)
    if not gains.told.any():
        raise UnusableRecordingError(
            f'no joint tells {load.mass:g} kg at {load.frame!r} from nothing: take a heavier load, '
            'or move the joints that carry it further'
        )
    along = np.sign(gains.gain) == np.sign(first.effort_model.scale)
    if along[gains.told].mean() < 0.5:
        raise UnusableRecordingError(
            'the robot carries less with the load than without: the last recording has to be the '
            'one with the load'
        )
    return identify(robot, empty, scale=gains.gain), gains


def _gains(
    first: Identified,
    empty: Sequence[JointSamples],
    loaded: Sequence[JointSamples],
    load: KnownLoad,
    body: int,
) -> DriveGains:
    fit, base = first.fit, first.maker.base
    described_scale = first.effort_model.scale
    reported = replace(first.maker, scale=np.ones(first.robot.nv))
    runs = [Equations.joined([reported.equations(s) for s in part]) for part in (empty, loaded)]
    inertia = Inertia(load.mass, Vector3(*load.center), Matrix3.zero())
    known = parameter_map(first.robot, load.frame) @ inertia.array()
    carried = base.combination[:, 10 * body : 10 * body + 10] @ known
    # In units of torque; each joint's own prior is in its own units.
    inertial = slice(0, fit.layout.inertial)
    wide = OPEN**2 * np.linalg.inv(fit.prior.divergence[inertial, inertial])
    usual = base.combination @ fit.prior.mean[inertial]
    prior = base.combination @ wide @ base.combination.T + OPEN**2 * np.outer(usual, usual)
    noise = fit.sigma**2 * correlation_factors(first.train) / described_scale**2
    drift = drift_of_friction(first)
    T, b = fit.shape.unknowns(), len(base)
    weights = [np.sqrt(fit.weights_of(run, first.moved)[:, run.block]) for run in runs]
    count, gain, deviation = b + 2 * T.shape[1] + 1, described_scale.copy(), []
    for joint in range(first.robot.nv):
        unit = 1.0 / abs(described_scale[joint])
        H, g = np.zeros((count, count)), np.zeros(count)
        for run, weight, has in zip(runs, weights, (0.0, 1.0), strict=True):
            rows = run.rows[joint] * weight[joint, :, np.newaxis]
            friction = rows[:, b:-1] @ T
            columns = [rows[:, :b], friction, has * friction, has * rows[:, :b] @ carried[:, None]]
            A = np.hstack(columns)
            H += A.T @ A / noise[joint]
            g += A.T @ rows[:, -1] / noise[joint]
        H[:b, :b] += np.linalg.inv(unit**2 * prior)
        own = np.arange(b, b + T.shape[1])
        size = unit * np.sqrt((first.train.measured[:, joint] ** 2).mean())
        H[own, own] += 1.0 / (10.0 * size) ** 2
        own += T.shape[1]
        H[own, own] += 1.0 / (unit * drift[joint, : T.shape[1]]) ** 2
        H[-1, -1] += 1e-12 * max(H[-1, -1], 1e-12)
        scale = 1.0 / np.sqrt(np.diag(H))
        covariance = np.linalg.inv(H * np.outer(scale, scale)) * np.outer(scale, scale)
        inverse, spread = covariance[-1] @ g, np.sqrt(covariance[-1, -1])
        told = spread < TOLD * abs(inverse)
        if told:
            gain[joint] = 1.0 / inverse
        deviation.append(spread / inverse**2 if told else np.inf)
    return DriveGains(gain, np.array(deviation), np.isfinite(deviation))
