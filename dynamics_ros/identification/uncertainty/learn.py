# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Residual external torques in free motion, as a function of speed, load and reversals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.algorithms.contact.unexplained import SLOW
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.observers import GAIN
from dynamics_ros.estimation.uncertainty.thresholds import (
    Unexplained,
    sigmas_for_rate,
    unmeasured_friction,
)
from dynamics_ros.identification import Identified, JointSamples, UnusableRecordingError
from dynamics_ros.identification.evaluation import Accuracy
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.joint_states.noise import SampleNoise
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Inertia

from .residuals import Residuals, chosen_gain, residuals_of

Array = NDArray[np.float64]

MIN_SAMPLES = 200
"""Least number of samples in motion from which a joint is learned."""

ROUNDS = 8
RESIDUAL_LIMIT = 4.0
"""Standard deviations at which residuals are limited; larger ones are part of the tail."""

MAX_REVERSAL = 0.2
"""Share of a reversal from which friction may be as large as a push."""

MAX_FREE_RMS = 4.0
"""Normalised RMS residual of a second from which it does not count as free motion."""

STICTION = 1.4
"""Largest ratio of the static friction of a joint to its dry friction in motion."""

INVERSE_RISK = 20.0
"""Inverse of the probability that static friction exceeds the learned bound."""

MAX_TAIL = 3.0

FALSE_ALARMS = 1.0
"""Rate of false alarms in free motion for calibrated thresholds [1/h]."""

NORMAL = NormalDist()
MIN_CONSTANT_SHARE = 0.1
"""Least share of the constant in the total standard deviation of a joint."""


@dataclass(frozen=True, eq=False)
class Learned:
    """Residuals of a model in free motion.

    Attributes:
        unexplained: parameters of the residuals.
        findings: one sentence for each fact that a user should know.
        gain: selected gain of the observer, to which the residuals belong [1/s].
    """

    unexplained: Unexplained
    findings: tuple[str, ...]
    gain: float


def calibrated_robot(identified: Identified) -> Robot:
    """The robot with the identified inertial parameters."""
    inertias = tuple(Inertia.from_array(body) for body in identified.bodies)
    return Robot(replace(identified.robot.model, inertias=inertias))


def learn(identified: Identified, recordings: Sequence[JointSamples]) -> Learned:
    """Learn the residuals of an identified robot.

    Args:
        identified: the identified robot.
        recordings: recordings of ``identify``, or better, other recordings of free motion.
    """
    robot, model = calibrated_robot(identified), identified.effort_model
    return learn_unexplained(robot, model, recordings, identified.accuracy)


def learn_unexplained(
    robot: Robot,
    effort_model: EffortModel,
    recordings: Sequence[JointSamples],
    accuracy: Accuracy | None = None,
) -> Learned:
    """Learn the residuals of a model from free motion.

    Nothing may touch the robot. Half a minute with stops and reversals of all joints is sufficient.
    Conditions that do not occur in it get the largest residual that friction can cause.

    Args:
        robot: robot with the masses for the estimators.
        effort_model: effort model for the estimators, with friction.
        recordings: recordings of the joints of the robot in its order (``for_robot``).
        accuracy: known errors of the model and noise of the samples; None: none are known.

    Raises:
        UnusableRecordingError: the recordings are too short for the observer to settle.
    """
    stretches = [one for samples in recordings for one in regular_stretches(samples)]
    accuracy = accuracy or Accuracy()
    noise = accuracy.noise or SampleNoise.none(robot.nv)
    if not stretches:
        raise UnusableRecordingError('no ten samples follow each other without a gap')
    longest = max(stretches, key=len)
    gain = chosen_gain(robot, noise, longest.position, longest.period, accuracy.residual)
    joined = residuals_of(robot, effort_model, recordings, gain, noise)
    dry = effort_model.coulomb + np.maximum(effort_model.stribeck, 0.0)
    # Load-dependent friction at the largest load of the recordings.
    dry = dry + effort_model.load_friction * np.abs(joined.load).max(axis=0, initial=0.0)
    unseen = unmeasured_friction(robot, dry)
    sigmas = sigmas_for_rate(FALSE_ALARMS, np.full(robot.nv, gain))
    columns, findings = [], []
    if gain != GAIN:
        findings.append(
            f'velocities are so noisy that an observer.gain of {GAIN:.0f} 1/s would hide contacts: '
            f'{gain:.0f} 1/s is written, with which contacts are detected later'
        )
    usual, largest, viscous_variance = (
        np.broadcast_to(one, robot.nv)
        for one in (
            np.square(accuracy.of_fit),
            np.square(accuracy.largest_of_fit),
            np.square(accuracy.of_viscous),
        )
    )
    # In motion, the unknown dry friction of a joint that hardly moves acts at any speed, and as
    # much again may be part of the offset identified at rest: thresholds rise by both.
    at_rest = np.maximum((joined.torque**2 - joined.noise).mean(axis=0) + usual, 0.0)
    at_rest = np.sqrt(at_rest + (2.0 * unseen / sigmas) ** 2)
    viscous, still = np.maximum(unseen, effort_model.viscous), []
    for j, name in enumerate(robot.joint_names):
        if (~joined.standing[:, j]).sum() < MIN_SAMPLES:
            columns.append([at_rest[j], viscous[j], 0.0, unseen[j], unseen[j], 1.0])
            still.append(f'{name} {unseen[j]:.2g}')
            continue
        column, sentence = _parameters_in_motion(
            joined,
            j,
            float(dry[j]),
            (float(usual[j]), float(largest[j])),
            float(viscous_variance[j]),
        )
        columns.append(column)
        findings += [f'{name}: {sentence}'] if sentence else []
    if still:
        findings.append(
            'joints hardly move, so that their friction in motion is not known and may be as much '
            f'as follows, in Nm or N, which thresholds are raised by ({", ".join(still)}): let '
            'each of them move both ways, slowly and fast'
        )
    return Learned(Unexplained(*np.array(columns).T), tuple(findings), gain)


def _parameters_in_motion(
    found: Residuals, j: int, dry: float, of_fit: tuple[float, float], of_viscous: float
) -> tuple[list[float], str]:
    """Parameters of a moving joint in the order of ``Unexplained``, and a finding or ''.

    Args:
        found: residuals of all joints.
        j: index of the joint.
        dry: its dry friction [Nm or N].
        of_fit: mean and largest variance of modelled torques in other postures.
        of_viscous: variance of its viscous friction, an error per speed in faster motion.
    """
    r, standing = found.torque[:, j], found.standing[:, j]
    bound = _static_friction_bound(r, standing, dry)
    moving = ~standing
    r, noise, second = r[moving], found.noise[moving, j], found.second[moving]
    features = np.column_stack(
        [
            np.ones(len(r)),
            found.v[moving, j] ** 2,
            found.load[moving, j] ** 2,
            found.reversal[moving, j] ** 2,
        ]
    )
    # Friction at a reversal may be as large as a push, and is part of what is learned.
    friction = (found.reversal[moving, j] > MAX_REVERSAL) & (np.abs(r) <= dry)
    free = np.ones(len(r), dtype=bool)
    for _ in range(2):
        squares = _variances(features[free], r[free], noise[free])
        z = r / np.sqrt(features @ squares + noise)
        free = _is_free_motion(np.where(friction, 0.0, z), second)
    tail = _tail_ratio(z[free])
    always = squares[0] + float(noise.mean())
    far = np.sqrt((tail**2 * always + of_fit[1]) / (always + of_fit[0]))
    squares[:2] += of_fit[0], of_viscous
    count = _reversals(found.v[:, j], standing)
    squares[3] = max(squares[3], (count * squares[3] + dry**2) / (count + 1.0))
    pushed = len(np.unique(second)) - len(np.unique(second[free]))
    sentence = f'{pushed} s are not those of free motion, and are left out' if pushed else ''
    return [*np.sqrt(squares), bound, max(tail, float(far))], sentence


def _reversals(v: Array, standing: NDArray[np.bool_]) -> int:
    """Number of times that a joint reverses without standing in between.

    Args:
        v: (n) velocity [rad/s or m/s].
        standing: (n) whether it stands.
    """
    moving = np.flatnonzero((np.abs(v) > SLOW) & ~standing)
    turned = np.diff(np.sign(v[moving])) != 0.0
    at_once = np.diff(np.cumsum(standing)[moving]) == 0
    return int(np.count_nonzero(turned & at_once))


def _variances(features: Array, r: Array, noise: Array) -> Array:
    """(4) maximum-likelihood variances of constant, speed, load and reversal; none is negative.

    Args:
        features: (n, 4) factors of the variances.
        r: (n) residuals, normally distributed.
        noise: (n) additional known variance.
    """
    scale = np.maximum(features.mean(axis=0), 1e-12)
    total = max(float(np.mean(r**2)), 1e-12)
    predicted = np.full(len(r), total)
    found = np.zeros(features.shape[1])
    for _ in range(ROUNDS):
        # The variance of r^2 is twice the square of the variance of r.
        kept = np.minimum(r**2, RESIDUAL_LIMIT**2 * predicted)
        found, _ = scipy.optimize.nnls(
            features / scale / predicted[:, np.newaxis], (kept - noise) / predicted
        )
        predicted = np.maximum(features / scale @ found, MIN_CONSTANT_SHARE**2 * total) + noise
    found /= scale
    found[0] = max(found[0], MIN_CONSTANT_SHARE**2 * total)
    return found


def _is_free_motion(z: Array, second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether rows belong to a second with an RMS residual of ``MAX_FREE_RMS`` or less."""
    _, index, counts = np.unique(second, return_inverse=True, return_counts=True)
    rms = np.sqrt(np.bincount(index, z**2) / counts)
    usual: NDArray[np.bool_] = (rms <= MAX_FREE_RMS)[index]
    return usual


def _tail_ratio(z: Array) -> float:
    """Ratio of large normalised residuals to those of a normal distribution.

    The mean excess of the largest 5 % over their threshold is extrapolated exponentially to the
    probability ``ALARM_SHARE``. The ratio of the maximum to that of as many normal numbers is used
    if larger.
    """
    largest = np.abs(z).max() / NORMAL.inv_cdf(1.0 - 0.5 / len(z))
    edge = np.quantile(np.abs(z), 1.0 - TAIL_SHARE)
    excess = float(np.mean(np.abs(z)[np.abs(z) > edge] - edge))
    usual = NORMAL.inv_cdf(1.0 - 0.5 * TAIL_SHARE)
    usual_excess = 2.0 * NORMAL.pdf(usual) / TAIL_SHARE - usual
    steps = np.log(TAIL_SHARE / ALARM_SHARE)
    tail = (edge + steps * excess) / (usual + steps * usual_excess)
    return float(np.clip(max(tail, largest), 1.0, MAX_TAIL))


TAIL_SHARE, ALARM_SHARE = 0.05, 1e-7
"""Share of residuals from which the tail is learned; probability of a residual above the
threshold."""


def _static_friction_bound(r: Array, standing: NDArray[np.bool_], dry: float) -> float:
    """Bound of the static friction of a joint, from its observed stands and its dry friction.

    Of n uniform numbers up to b, all are below m with the probability (m / b)^n.
    """
    static = STICTION * dry
    edges = np.flatnonzero(np.diff(np.concatenate([[False], standing, [False]]).astype(int)))
    stands = [r[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    if not stands:
        return static
    largest = max(abs(float(np.mean(stand))) for stand in stands)
    return max(largest, min(static, largest * INVERSE_RISK ** (1.0 / len(stands))))
