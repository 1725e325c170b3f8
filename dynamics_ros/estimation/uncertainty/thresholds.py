# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Deviation of external torques without contact, and thresholds derived from it.

Constant thresholds do not fit arbitrary robots: a shoulder that moves 20 kg and a finger differ by
a factor of a thousand. The contribution of sensor noise follows from the observer and the largest
inertia of each joint; the errors of the model scale with the size of the motors, or come from free
motion (``identification/uncertainty``) as the parameters ``effort.model_error`` and
``unexplained.*``. ``ContactDetector`` evaluates these (``algorithms/contact/unexplained.py``).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import SLOW
from dynamics_ros.model import Joint
from dynamics_ros.multibody.rigid_body_system import random_configuration

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

Vector = NDArray[np.float64]

LOG = logging.getLogger(__name__)

POSTURES, MAX_POSTURES = 300, 50
"""Number of random configurations used to find the largest inertia, and the largest weight."""

AT_REST = 0.02
"""Speed above which a joint counts as moving [rad/s], times ``motion_scales`` of sliding joints."""

STANDARD_GRAVITY = 9.80665
"""[m/s^2]"""


class NoiseGains(NamedTuple):
    """Standard deviation of the external torque per unit of white noise of the samples.

    Attributes:
        effort: (nv) per torque noise [Nm per Nm].
        momentum: (nv) per noise of the momentum M v [Nm per Nms].
    """

    effort: Vector
    momentum: Vector


def noise_gains(sampling: str, gain: Vector, interval: float) -> NoiseGains:
    """Returns the noise gains of an observer for white noise of the samples.

    An observer filters its samples: the efforts directly, the momenta through their differences.
    With a = 1 - exp(-K T), white noise through a / (1 - (1 - a) z) has the variance a / (2 - a).
    Velocities that are filtered differences of positions have a noise of other color, of which the
    observer passes almost the same share: it is a high-pass for momenta, of gain K.

    Args:
        sampling: option of the observer (``algorithms/contact/torque_observer.py``).
        gain: (nv) K [1/s].
        interval: sample interval T [s].
    """
    a = -np.expm1(-gain * interval)
    # The trapezoidal rule averages two samples.
    effort = 0.5 * a if sampling == 'instant' else a / (2.0 - a)
    return NoiseGains(np.sqrt(effort), np.sqrt(2.0 * a**2 / (2.0 - a)) / interval)


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


USUAL_LIMIT, MIN_LIMIT, MAX_LIMIT = 2.5, 0.2, 20.0
"""Effort limit over the weight of a joint: of usual arms, and of limits that are placeholders. Real
ones are between 0.3 and 14 times the largest weight of a joint of their robot."""

MAX_OWN_LIMIT = 30.0
"""Effort limit over the weight of the joint itself, or its least weight; 29 for a real gripper."""

MIN_WEIGHT = 0.5
"""Least weight of a joint, over the largest one, per root of the share of the masses it moves."""

MASSLESS = 100.0
"""Effort range of joints that move no mass [Nm or N]."""


def by_effort_limit(robot: Robot, share: float) -> Vector:
    """Returns a share (nv) of the range of the efforts of each joint, see ``effort_ranges``."""
    if robot not in _RANGES:
        _RANGES[robot] = effort_ranges(robot)
    return share * _RANGES[robot]


_RANGES: WeakKeyDictionary[Robot, Vector] = WeakKeyDictionary()


UNMEASURED = 0.05
"""Largest dry friction of a joint whose friction is unknown, over its range of efforts."""


def unmeasured_friction(robot: Robot, described: Vector) -> Vector:
    """Returns the largest dry friction (nv) of joints whose friction is unknown [Nm or N].

    Args:
        robot: the robot.
        described: (nv) described dry friction; 0 if the description contains none [Nm or N].
    """
    return np.maximum(by_effort_limit(robot, UNMEASURED), described)


def effort_ranges(robot: Robot) -> Vector:
    """Returns the range (nv) of each joint's efforts: its limit, unless that is a placeholder.

    A limit that has not been filled in, is below the weight that the joint holds, or far above its
    own or that of any joint, is replaced by the limit of a usual robot of the same weight, and so
    is the same limit of other joints.
    """
    postures = _postures(robot.model.joints, robot.nq)[:MAX_POSTURES]
    inertia = robot.mass_matrix(postures).diagonal(axis1=-2, axis2=-1).max(axis=0)
    moved, slides = _moved_masses(robot)
    base = robot.model.root_joint_nv
    # A moving base rests on some of its joints.
    carried = np.full_like(moved, robot.total_mass) if base else moved
    weight = STANDARD_GRAVITY * carried * np.sqrt(inertia / np.maximum(moved, 1e-9))
    # Other joints of the same unit; a force has to be compared with the weight of the robot.
    turning = weight[base:][~slides[base:]].max(initial=0.0)
    largest = np.where(slides, STANDARD_GRAVITY * moved.max(initial=0.0), turning)
    least = MIN_WEIGHT * np.sqrt(moved / max(moved.max(initial=0.0), 1e-9)) * largest
    weight = np.maximum(weight, least)
    usual = USUAL_LIMIT * weight
    usual[usual <= 0.0] = MASSLESS
    limits = np.full(robot.nv, np.inf)
    limits[base:] = robot.effort_limits
    # A limit of 0 in a description means that it has not been filled in.
    known = np.isfinite(limits) & (limits > 0.0)
    held = np.zeros(robot.nv) if base else np.abs(robot.gravity(postures)).max(axis=0)
    most = np.minimum(MAX_LIMIT * largest, MAX_OWN_LIMIT * weight)
    used = known & (limits >= MIN_LIMIT * held) & ((limits <= most) | (largest == 0))
    used &= ~np.isin(limits, limits[known & ~used])
    odd = [
        f'{name} {limits[i]:g} (usual: {usual[i]:.2g})'
        for name, i in robot.joint_v_indices.items()
        if known[i] and not used[i]
    ]
    if odd:
        LOG.warning(
            'effort limits do not fit the weight of the robot, and are not used for thresholds (in '
            f'Nm or N: {", ".join(odd)}): correct them in the description, or set '
            'effort.model_error, unexplained.speed and thresholds.collision'
        )
    return np.where(used, limits, usual)


def motion_scales(robot: Robot) -> Vector:
    """Returns the motion (nv) of each joint that corresponds to 1 rad [rad or m].

    It is the range of a sliding joint over 2 pi, because fingers and gantries differ as much as
    their ranges do; 0.1 m without a range.
    """
    scales = np.ones(robot.nv)
    for joint in robot.model.actuated:
        if joint.kind.nv == 1 and joint.kind.slides[0]:
            place = joint.q_indices[0]
            span = robot.upper_limits[place] - robot.lower_limits[place]
            usable = np.isfinite(span) and span > 0.0
            scales[joint.v_indices[0]] = span / (2.0 * np.pi) if usable else 0.1
    return scales


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Error of a model's joint torques, learned from free motion.

    Attributes:
        constant: (nv) constant deviation in addition to sample noise [Nm or N].
        speed: (nv) deviation per velocity [Nms/rad or Ns/m].
        load: (nv) deviation per joint torque [1].
        reversal: (nv) deviation at a reversal of the joint [Nm or N].
        standing: (nv) largest friction that may hold the joint at standstill [Nm or N].
        tail: (nv) factor on the number of deviations that is a contact: ratio of the rare largest
            residuals to those of a normal distribution; 1 or more.
    """

    constant: Vector
    speed: Vector
    load: Vector
    reversal: Vector
    standing: Vector
    tail: Vector


NOISY = 4.0
"""Least ratio of the speed of a joint that is not at rest to the noise of its velocity."""


def slow_speeds(robot: Robot, velocity_noise: Vector) -> Vector:
    """Returns the speeds (nv) below which joints are near a reversal or at rest."""
    return np.maximum(SLOW * motion_scales(robot), NOISY * velocity_noise)


def _moved_masses(robot: Robot) -> tuple[Vector, NDArray[np.bool_]]:
    """Returns the masses (nv) that velocities move, and whether these are of translations."""
    model = robot.model
    own = {joint.name: list(joint.v_indices) for joint in model.joints}
    moved, slides = np.zeros(robot.nv), np.zeros(robot.nv, dtype=bool)
    for body, inertia in enumerate(model.inertias):
        joints = [model.joints[i] for i in model.ancestors(body)]
        moved[list({i for joint in joints for i in own[joint.leader or joint.name]})] += float(
            inertia.mass
        )
    for joint in model.actuated:
        slides[list(joint.v_indices)] = joint.kind.slides
    return moved, slides
