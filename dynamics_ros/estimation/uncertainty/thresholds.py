# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far external torques scatter without contact, and what follows for thresholds.

Constants do not suit unknown robots: a shoulder that moves 20 kg and a finger differ by factors of
a thousand. What noise the sensors add follows from the observer and the largest inertia that a
joint can have; what the model leaves unexplained grows with the size of the motors.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.model import Joint
from dynamics_ros.multibody.random_configuration import random_configuration

from .noise import NoiseGains

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]

POSTURES = 300
"""Random configurations of which the largest inertia is taken."""


def largest_momentum_noise(robot: Robot, velocity_noise: Vector) -> Vector:
    """Standard deviation (nv) of M v where the robot is most inert, for noise (nv) of v."""
    postures = _postures(robot.model.joints, robot.nq)
    momenta = np.square(robot.mass_matrix(postures) * velocity_noise).sum(axis=-1)
    return np.asarray(np.sqrt(momenta.max(axis=0)))


@lru_cache(maxsize=4)
def _postures(joints: tuple[Joint, ...], nq: int) -> Vector:
    """Random configurations (POSTURES, nq); kept, since robots with another load ask for the same.

    Drawing them takes longer than their mass matrices.
    """
    rng = np.random.default_rng(0)
    return np.array([random_configuration(joints, nq, rng) for _ in range(POSTURES)])


def external_torque_noise(
    gains: NoiseGains, effort_noise: Vector, momentum_noise: Vector, model_error: Vector
) -> Vector:
    """Standard deviation (nv) of an external torque without contact.

    Args:
        gains: of the observer.
        effort_noise: (nv) of one torque sample; inf for a joint that is not used.
        momentum_noise: (nv) of one momentum sample.
        model_error: (nv) what the model leaves unexplained.
    """
    parts = (gains.effort * effort_noise, gains.momentum * momentum_noise, model_error)
    return np.asarray(np.sqrt(sum(np.square(part) for part in parts)))


LEAST_TAIL = 1e-300
"""Smallest probability that is told from zero."""


def sigmas_for_rate(false_alarms_per_hour: float, gain: Vector) -> float:
    """Standard deviations that noise exceeds so often, on any joint.

    An observer forgets within 1/K; noise of a joint is found to have some 2 K chances a second.

    Args:
        false_alarms_per_hour: of all joints together.
        gain: (nv) K [1/s].
    """
    chances = 2.0 * 3600.0 * float(gain.sum())
    # The lower tail, because one minus a probability below 1e-16 is one.
    tail = max(0.5 * min(1.0, false_alarms_per_hour / chances), LEAST_TAIL)
    return max(-NormalDist().inv_cdf(tail), 0.1)


def by_effort_limit(robot: Robot, share: float, otherwise: float) -> Vector:
    """A share (nv) of the effort limit of each joint; another value where it has none."""
    limits = np.full(robot.nv, np.inf)
    limits[robot.model.root_joint_nv :] = robot.effort_limits
    # A limit of 0 in a description means that nobody has filled it in.
    known = np.isfinite(limits) & (limits > 0.0)
    return np.where(known, share * np.where(known, limits, 1.0), otherwise)
