# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of drive gains (Nm per unit of effort), from runs with and without a known load.

If all masses are unknown, a model fits efforts in any unit. Each joint is therefore fitted
separately, with its own base parameters in reported units. Its efforts are

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

from .deviations import correlation_factors
from .equations import Equations
from .identify import Identified, identify
from .joint_states.samples import JointSamples, UnusableRecordingError
from .normal_equations import FRICTION
from .payload import drift_of_friction

Array = NDArray[np.float64]

TOLD = 0.1
"""A gain is identified if its standard deviation is below this fraction of it."""

OPEN = 2.0
"""Prior deviation of base parameters from the described ones, over that of the identification
prior."""


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
    # Base parameters in torque units; the prior of each joint is converted to its reported unit.
    K, usual = base.combination, base.combination @ fit.prior.mean[: fit.layout.inertial]
    prior = OPEN**2 * (K @ fit.prior.open_inertial @ K.T + np.outer(usual, usual))
    noise = fit.sigma**2 * correlation_factors(first.train) / described_scale**2
    drift = drift_of_friction(first)
    k, b = len(FRICTION), len(base)
    weights = [np.sqrt(fit.weights_of(run, first.moved)[:, run.block]) for run in runs]
    count, gain, deviation = b + 2 * k + 1, described_scale.copy(), []
    for joint in range(first.robot.nv):
        unit = 1.0 / abs(described_scale[joint])
        H, g = np.zeros((count, count)), np.zeros(count)
        for run, weight, has in zip(runs, weights, (0.0, 1.0), strict=True):
            rows = run.rows[joint] * weight[joint, :, np.newaxis]
            friction = rows[:, b:-1]
            columns = [rows[:, :b], friction, has * friction, has * rows[:, :b] @ carried[:, None]]
            A = np.hstack(columns)
            H += A.T @ A / noise[joint]
            g += A.T @ rows[:, -1] / noise[joint]
        H[:b, :b] += np.linalg.inv(unit**2 * prior)
        own = np.arange(b, b + k)
        size = unit * np.sqrt((first.train.measured[:, joint] ** 2).mean())
        H[own, own] += 1.0 / (10.0 * size) ** 2
        own += k
        H[own, own] += 1.0 / (unit * drift[joint]) ** 2
        H[-1, -1] += 1e-12 * max(H[-1, -1], 1e-12)
        scale = 1.0 / np.sqrt(np.diag(H))
        covariance = np.linalg.inv(H * np.outer(scale, scale)) * np.outer(scale, scale)
        inverse, spread = covariance[-1] @ g, np.sqrt(covariance[-1, -1])
        told = spread < TOLD * abs(inverse)
        if told:
            gain[joint] = 1.0 / inverse
        deviation.append(spread / inverse**2 if told else np.inf)
    return DriveGains(gain, np.array(deviation), np.isfinite(deviation))
