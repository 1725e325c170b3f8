# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Deviation of external torques without contact, and thresholds derived from it.

Constant thresholds do not fit arbitrary robots: a shoulder that moves 20 kg and a finger differ by
a factor of a thousand. The contribution of sensor noise follows from the observer and the largest
inertia of each joint; the errors of the model scale with the size of the motors.
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
"""Number of random configurations used to find the largest inertia."""


def largest_momentum_noise(robot: Robot, velocity_noise: Vector) -> Vector:
    """Returns the largest standard deviation (nv) of M v over postures for velocity noise (nv)."""
    postures = _postures(robot.model.joints, robot.nq)
    momenta = np.square(robot.mass_matrix(postures) * velocity_noise).sum(axis=-1)
    return np.asarray(np.sqrt(momenta.max(axis=0)))


@lru_cache(maxsize=4)
def _postures(joints: tuple[Joint, ...], nq: int) -> Vector:
    """Returns random configurations (POSTURES, nq), cached because a payload does not change them.

    Drawing them takes longer than computing their mass matrices.
    """
    rng = np.random.default_rng(0)
    return np.array([random_configuration(joints, nq, rng) for _ in range(POSTURES)])


def external_torque_noise(
    gains: NoiseGains, effort_noise: Vector, momentum_noise: Vector, model_error: Vector
) -> Vector:
    """Returns the standard deviation (nv) of an external torque without contact.

    Args:
        gains: noise gains of the observer.
        effort_noise: (nv) deviation of one torque sample; inf for an unused joint.
        momentum_noise: (nv) deviation of one momentum sample.
        model_error: (nv) deviation of the errors of the model.
    """
    parts = (gains.effort * effort_noise, gains.momentum * momentum_noise, model_error)
    return np.asarray(np.sqrt(sum(np.square(part) for part in parts)))


MIN_TAIL = 1e-300
"""Smallest probability that is told from zero."""


def sigmas_for_rate(false_alarms_per_hour: float, gain: Vector) -> float:
    """Returns the number of standard deviations that noise exceeds at a given rate on any joint.

    The noise of an observer decorrelates within 1/K, which gives about 2 K independent samples of
    each joint per second.

    Args:
        false_alarms_per_hour: rate of all joints together.
        gain: (nv) K [1/s].
    """
    chances = 2.0 * 3600.0 * float(gain.sum())
    # The lower tail, because one minus a probability below 1e-16 is one.
    tail = max(0.5 * min(1.0, false_alarms_per_hour / chances), MIN_TAIL)
    return max(-NormalDist().inv_cdf(tail), 0.1)


def by_effort_limit(robot: Robot, share: float, otherwise: float) -> Vector:
    """Returns a share (nv) of each joint's effort limit; ``otherwise`` where it has none."""
    limits = np.full(robot.nv, np.inf)
    limits[robot.model.root_joint_nv :] = robot.effort_limits
    # A limit of 0 in a description means that it has not been filled in.
    known = np.isfinite(limits) & (limits > 0.0)
    return np.where(known, share * np.where(known, limits, 1.0), otherwise)
