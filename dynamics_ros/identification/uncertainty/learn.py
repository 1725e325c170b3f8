# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""External torques of free motion, which should be zero, and how their size follows the motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import scipy
from numpy.typing import NDArray

from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.uncertainty.thresholds import sigmas_for_rate
from dynamics_ros.estimation.uncertainty.unexplained import Unexplained
from dynamics_ros.identification import Identified, JointSamples, UnusableRecordingError
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.prior import unmeasured_friction
from dynamics_ros.robot import Robot
from dynamics_ros.spatial import Inertia

from .contacts import Contact, contacts_in, lasting_force, named, rows_of
from .observer_choice import ObserverChoice, SampleNoise, chosen_observer
from .residuals import Residuals, residuals_of

Array = NDArray[np.float64]

LEAST = 200
"""Samples in motion that a deviation is learned from."""

ROUNDS = 8
FAR = 4.0
"""Deviations beyond which a residual counts no more: what is farther is in the tail."""

PUSHED = 4.0
"""RMS of a second's residuals over their deviation from which on it is no free motion."""

SURE = 20.0
"""1 / probability that a standing joint is held by more friction than is stated."""

MOST_TAIL = 3.0

FALSE_ALARMS = 1.0
"""An hour, in free motion: the rate that calibrations ask for."""

NORMAL = NormalDist()
LEAST_SHARE = 0.1
"""Of its total deviation, that a joint has at any time at least."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What free motion tells beyond a model.

    Attributes:
        unexplained: of the model.
        findings: what a user should know, one sentence each.
        contacts: times that seem to be none of free motion; nothing was learned from them.
        observer: that keeps noise of velocities small enough; what is unexplained is of it.
    """

    unexplained: Unexplained
    findings: tuple[str, ...]
    contacts: tuple[Contact, ...]
    observer: ObserverChoice


def calibrated_robot(identified: Identified) -> Robot:
    """The robot with the masses that were identified."""
    inertias = tuple(Inertia.from_array(body) for body in identified.bodies)
    return Robot(replace(identified.robot.model, inertias=inertias))


def learn(identified: Identified, recordings: Sequence[JointSamples]) -> Learned:
    """What an identified robot leaves over of the recordings that it was identified from.

    Args:
        identified: the robot.
        recordings: those of ``identify``, or others of free motion, which say more.
    """
    return learn_unexplained(
        calibrated_robot(identified),
        identified.effort_model,
        recordings,
        of_fit=identified.torque_deviation,
        largest_of_fit=identified.largest_torque_deviation,
        effort_noise=identified.effort_noise,
        velocity_noise=identified.velocity_noise,
        velocity_differenced=identified.velocity_differenced,
        left_over=identified.model_error,
    )


def learn_unexplained(
    robot: Robot,
    effort_model: EffortModel,
    recordings: Sequence[JointSamples],
    *,
    of_fit: Array | float = 0.0,
    largest_of_fit: Array | float = 0.0,
    effort_noise: Array | float = 0.0,
    velocity_noise: Array | float = 0.0,
    velocity_differenced: Array | float = 0.0,
    left_over: Array | float = 0.0,
) -> Learned:
    """Learn from free motion how far a model is off.

    Nothing may touch the robot. Half a minute with stops and reversals of all joints is enough;
    what does not occur in it is taken to be as bad as friction can make it.

    Args:
        robot: with the masses that estimators will have.
        effort_model: what efforts mean, with friction, as estimators will have it.
        recordings: with the joints of the robot in its order (``for_robot``).
        of_fit: (nv) deviation that the fit of the model has in other postures [Nm or N].
        largest_of_fit: (nv) the same in the posture where it is largest: a robot may work there for
            as long as it likes, so thresholds reckon with it [Nm or N].
        effort_noise, velocity_noise: (nv) of single samples, which estimators are told apart: what
            they explain of the residual is no part of ``constant`` [Nm or N], [rad/s or m/s].
        velocity_differenced: (nv) share of the variance of velocities that differences of
            positions make.
        left_over: (nv) what the model leaves unexplained of slow motion: less noise than that
            needs no other observer [Nm or N].

    Raises:
        UnusableRecordingError: too short for an observer to settle.
    """
    stretches = [one for samples in recordings for one in regular_stretches(samples)]
    noise = SampleNoise(
        *(
            np.broadcast_to(np.asarray(one, dtype=np.float64), robot.nv)
            for one in (effort_noise, velocity_noise, velocity_differenced)
        )
    )
    if not stretches:
        raise UnusableRecordingError('no ten samples follow each other without a gap')
    longest = max(stretches, key=len)
    observer = chosen_observer(robot, noise, longest.position, longest.period, left_over)
    joined = residuals_of(robot, effort_model, recordings, observer, noise)
    contacts = contacts_in(joined)
    joined = joined.without(rows_of(contacts, joined))
    dry = effort_model.coulomb + np.maximum(effort_model.stribeck, 0.0)
    # Of friction that grows with the load, that under the largest one that was seen.
    dry = dry + effort_model.load_friction * np.abs(joined.load).max(axis=0, initial=0.0)
    unseen = unmeasured_friction(robot, dry)
    sigmas = sigmas_for_rate(FALSE_ALARMS, np.full(robot.nv, observer.gain))
    columns, findings = [], []
    force = lasting_force(robot, joined, effort_model.friction_velocity)
    if force is not None:
        x, y, z = force
        findings.append(
            f'a force of about {np.linalg.norm(force):.0f} N at {robot.body_names[-1]}, along ('
            f'{x:.0f}, {y:.0f}, {z:.0f}) in root axes, explains much of what is left over: '
            'something touches the robot, or it carries more or less than described'
        )
    if contacts:
        findings.append(
            f'efforts at {named(contacts, robot.joint_names)} do not come back with the state, as '
            'those of a push or a contact: nothing is learned from these times'
        )
    if observer != ObserverChoice():
        findings.append(
            f'velocities are so noisy that a momentum observer would hide contacts: '
            f'observer.kind {observer.kind} with a gain of {observer.gain:.0f} 1/s is written'
        )
    still: list[str] = []
    usual, largest = (np.broadcast_to(np.square(one), robot.nv) for one in (of_fit, largest_of_fit))
    for j, name in enumerate(robot.joint_names):
        if (~joined.standing[:, j]).sum() < LEAST:
            viscous = max(float(unseen[j]), float(effort_model.viscous[j]))
            column = _unseen(joined, j, float(unseen[j]), viscous, float(usual[j]), sigmas)
            still.append(f'{name} {unseen[j]:.2g}')
            sentence = ''
        else:
            column, sentence = _of_joint(
                joined, j, float(dry[j]), (float(usual[j]), float(largest[j]))
            )
        columns.append(column)
        findings += [f'{name}: {sentence}'] if sentence else []
    if still:
        findings.append(
            'joints hardly move, so that their friction in motion is not known and may be as much '
            f'as follows, in Nm or N, which thresholds are raised by ({", ".join(still)}): let '
            'each of them move both ways, slowly and fast'
        )
    return Learned(Unexplained(*np.array(columns).T), tuple(findings), contacts, observer)


def _unseen(
    found: Residuals, j: int, friction: float, viscous: float, of_fit: float, sigmas: float
) -> list[float]:
    """The numbers of a joint that hardly moves, in the order of ``Unexplained``.

    In motion its dry friction shows at any speed, and beside it as much again that held the joint
    and was taken for an offset. Both are bounds: thresholds of so many deviations rise by them.

    Args:
        found: of all joints; of the joint j.
        j: its number.
        friction: the largest that it may have [Nm or N].
        viscous: the same at 1 rad/s or m/s.
        of_fit: variance that the fit has in other postures.
        sigmas: deviations that are a contact.
    """
    still = float(np.mean(found.torque[:, j] ** 2 - found.noise[:, j]))
    constant = np.sqrt(max(still + of_fit, 0.0) + (2.0 * friction / sigmas) ** 2)
    return [float(constant), viscous, 0.0, friction, friction, 1.0]


def _of_joint(
    found: Residuals, j: int, dry: float, of_fit: tuple[float, float]
) -> tuple[list[float], str]:
    """The numbers of a joint that moves in the order of ``Unexplained``, and what to say of it.

    Args:
        found: of all joints; of the joint j.
        dry: its dry friction [Nm or N].
        of_fit: variances that the fit has in other postures, usually and at most.
    """
    r, standing = found.torque[:, j], found.standing[:, j]
    bound = _standing(r, standing, dry)
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
    free = np.ones(len(r), dtype=bool)
    for _ in range(2):
        squares = _variances(features[free], r[free], noise[free])
        z = r / np.sqrt(features @ squares + noise)
        free = _free(z, second)
    tail = _tail(z[free])
    always = squares[0] + float(noise.mean())
    far = np.sqrt((tail**2 * always + of_fit[1]) / (always + of_fit[0]))
    squares[0] += of_fit[0]
    pushed = len(np.unique(second)) - len(np.unique(second[free]))
    sentence = f'{pushed} s are not those of free motion, and are left out' if pushed else ''
    return [*np.sqrt(squares), bound, max(tail, float(far))], sentence


def _variances(features: Array, r: Array, noise: Array) -> Array:
    """(4) of constant, speed, load, reversal: of normal residuals the likeliest, none negative.

    Args:
        features: (n, 4) what they are multiplied with.
        r: (n) residuals.
        noise: (n) variance that they have anyway.
    """
    scale = np.maximum(features.mean(axis=0), 1e-12)
    total = max(float(np.mean(r**2)), 1e-12)
    predicted = np.full(len(r), total)
    found = np.zeros(features.shape[1])
    for _ in range(ROUNDS):
        # The variance of r^2 is twice that of r, squared.
        kept = np.minimum(r**2, FAR**2 * predicted)
        found, _ = scipy.optimize.nnls(
            features / scale / predicted[:, np.newaxis], (kept - noise) / predicted
        )
        predicted = np.maximum(features / scale @ found, LEAST_SHARE**2 * total) + noise
    found /= scale
    found[0] = max(found[0], LEAST_SHARE**2 * total)
    return found


def _free(z: Array, second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows of seconds whose residual over its deviation is not far off, as it is in a push."""
    _, index, counts = np.unique(second, return_inverse=True, return_counts=True)
    rms = np.sqrt(np.bincount(index, z**2) / counts)
    usual: NDArray[np.bool_] = (rms <= PUSHED)[index]
    return usual


def _tail(z: Array) -> float:
    """How much farther off z is, where it is rare, than normal numbers are.

    By how far, on average, the largest twentieth exceeds its smallest, carried on to ``RARE``; or
    by the largest of them, beside that of as many normal numbers, where that is more.
    """
    largest = np.abs(z).max() / NORMAL.inv_cdf(1.0 - 0.5 / len(z))
    edge = np.quantile(np.abs(z), 1.0 - TWENTIETH)
    excess = float(np.mean(np.abs(z)[np.abs(z) > edge] - edge))
    usual = NORMAL.inv_cdf(1.0 - 0.5 * TWENTIETH)
    usual_excess = 2.0 * NORMAL.pdf(usual) / TWENTIETH - usual
    steps = np.log(TWENTIETH / RARE)
    tail = (edge + steps * excess) / (usual + steps * usual_excess)
    return float(np.clip(max(tail, largest), 1.0, MOST_TAIL))


TWENTIETH, RARE = 0.05, 1e-7
"""Shares of residuals: those that a tail is learned from, and those that are to be no contact."""


def _standing(r: Array, standing: NDArray[np.bool_], dry: float) -> float:
    """Friction that may hold a joint: what was seen of n stands, but no more than dry friction.

    Of n even numbers up to b the largest is below m with a probability of (m / b)^n.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], standing, [False]]).astype(int)))
    stands = [r[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
    if not stands:
        return dry
    largest = max(abs(float(np.mean(stand))) for stand in stands)
    return max(largest, min(dry, largest * SURE ** (1.0 / len(stands))))
