# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts felt by an arm that was identified from a planned motion, compared with its true model.

Masses of the arm are up to 20 % off and its friction is unknown. The estimators of contact_node
process the same states once with the identified parameters and once with the true ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks.identification_arms import NAMES, SUITE, Arm, simulated
from benchmarks.identification_estimates import SETTLED, pipeline_of, told
from benchmarks.identification_simulated import FRAMES
from benchmarks.records import Goal, Record
from benchmarks.unmodelled_arms import named
from dynamics_ros import Robot
from dynamics_ros.calibration.outputs import parameter_values
from dynamics_ros.estimation import ContactState, EffortModel
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.identification import Identified, JointSamples, identify
from dynamics_ros.identification.evaluation import Accuracy
from dynamics_ros.identification.excitation.fourier import plan_excitation
from dynamics_ros.identification.uncertainty import (
    Learned,
    calibrated_robot,
    learn,
    learn_unexplained,
)
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.recordings.settings import settings_of

Array = NDArray[np.float64]

RATE, CUTOFF = 500.0, 60.0
"""Rate of the joint states, and cutoff of the driver's velocity filter [Hz]."""

NOISE, ENCODER = 0.01, 1e-5
"""Standard deviation of efforts over their RMS; resolution of positions [rad]."""

PERIOD, PERIODS = 20.0, 3
"""Duration of the planned motion [s]; how often it is run."""

FREE, FREE_QUICKLY = 600.0, 60.0
"""Duration of free motion, in which all contacts are false [s]."""

PUSH, PUSHES, BETWEEN, LASTS = 10.0, 45, 3.0, 0.5
"""Force [N]; number of pushes; time between them, and their duration [s]."""

CONSIDERED = 0.25
"""Part at the end of a push over which forces are averaged [s]."""


@dataclass(frozen=True, eq=False)
class Felt:
    """Estimates over a recording.

    Attributes:
        force: (n, 3) in root axes [N].
        contact: (n) whether a contact is reported.
    """

    force: Array
    contact: NDArray[np.bool_]


def planned(options: argparse.Namespace) -> Iterator[Record]:
    """Records of all arms."""
    for name in named(options.robot, NAMES):
        yield from _arm(name, options.quick)


def _arm(name: str, quick: bool) -> Iterator[Record]:
    arm, rng, frame = simulated(name, 3, noise=NOISE), np.random.default_rng(21), FRAMES[name]
    plan = plan_excitation(arm.described, duration=PERIOD, rate=RATE)
    whole = np.stack([plan.q, plan.v, plan.a])
    excitation = np.concatenate([whole[:, :-1]] * PERIODS, axis=1)
    recording = _samples(arm, excitation, rng)
    identified = identify(arm.described, [recording])
    learned = learn(identified, [recording])
    exact = _true_model(arm)
    known = copy(identified)
    known.effort_model = exact
    of_truth = learn_unexplained(arm.real, exact, [recording], Accuracy(identified.noise))
    pipelines = (
        _pipeline(calibrated_robot(identified), frame, identified, learned),
        _pipeline(arm.real, frame, known, of_truth),
    )
    count = 9 if quick else PUSHES
    for words, motion in (
        ('at rest', _postures(arm, count, rng)),
        (
            'in motion',
            arm.motion(_times(count * BETWEEN + SETTLED), rng, np.arange(arm.described.nv), 1.0),
        ),
    ):
        forces = _forces(motion.shape[1], count, rng)
        J = arm.real.jacobian(motion[0], frame)[:, :3]
        pushed = _samples(arm, motion, rng, np.einsum('tij,ti->tj', J, forces))
        yield from _compared(name, words, *(felt(one, pushed) for one in pipelines), count)
    duration = FREE_QUICKLY if quick else FREE
    free = arm.motion(_times(duration), rng, np.arange(arm.described.nv), 1.0)
    contact = felt(pipelines[0], _samples(arm, free, rng)).contact
    alarms = int(np.count_nonzero(np.diff(contact.astype(int)) > 0))
    words = f'planned: false alarms in {duration / 60.0:g} min'
    yield Record(SUITE, words, name, alarms, '', goal=Goal(0.0, of='value'))
    noisy = _samples(arm, excitation, rng, white=True)
    found = identify(arm.described, [noisy])
    pipeline = _pipeline(calibrated_robot(found), frame, found, learn(found, [noisy]))
    contact = felt(pipeline, _samples(arm, free, rng, white=True)).contact
    alarms = int(np.count_nonzero(np.diff(contact.astype(int)) > 0))
    words = f'planned, white noise of positions: false alarms in {duration / 60.0:g} min'
    yield Record(SUITE, words, name, alarms, '', goal=Goal(0.0, of='value'))


def _compared(name: str, words: str, own: Felt, true: Felt, count: int) -> Iterator[Record]:
    """Differences of forces and of the times of detection between both models."""
    off, both = [], []
    for number in range(count):
        rows = slice(*(round(x * RATE) for x in _push(number)))
        last = slice(rows.stop - round(CONSIDERED * RATE), rows.stop)
        difference = (own.force[last] - true.force[last]).mean(axis=0)
        off.append(np.linalg.norm(difference) / PUSH)
        both.append([_detected_after(one.contact, rows) for one in (own, true)])
    after = 1e3 * np.array(both)
    found = np.isfinite(after)
    known = found.all(axis=1)
    mean = after[known].mean(axis=0) if known.any() else np.full(2, np.nan)
    rms = 100.0 * float(np.sqrt(np.mean(np.square(off))))
    case = f'planned: push {words}'
    yield Record(SUITE, f'{case}, off from true model', name, rms, '%', goal=Goal(10.0, of='value'))
    yield Record(SUITE, f'{case}, largest', name, 100.0 * float(np.max(off)), '%')
    counts = found.sum(axis=0)
    yield Record(SUITE, f'{case}, found', name, counts[0], f'of {count}', 'true model', counts[1])
    yield Record(SUITE, f'{case}, detected after', name, mean[0], 'ms', 'true model', mean[1])
    goal = Goal(5.0, of='value')
    yield Record(SUITE, f'{case}, later by', name, mean[0] - mean[1], 'ms', goal=goal)


def _detected_after(contact: NDArray[np.bool_], push: slice) -> float:
    """Time until a new contact is reported during a push [s]; inf without one."""
    within = np.flatnonzero(contact[push])
    if not len(within) or contact[push.start - 1]:
        return np.inf
    return float(within[0] / RATE)


def felt(pipeline: ContactPipeline, samples: JointSamples) -> Felt:
    """Estimates of a pipeline over a recording."""
    force, contact = np.zeros((len(samples), 3)), np.zeros(len(samples), dtype=bool)
    for k, (state, external) in enumerate(told(pipeline, samples)):
        if samples.time[k] < SETTLED or external is None:
            continue
        contact[k] = external.report.state is not ContactState.NONE
        (estimate,) = pipeline.wrenches(state, external.values)
        force[k] = estimate.wrench[:3]
    return Felt(force, contact)


def _pipeline(
    robot: Robot, frame: str, identified: Identified, learned: Learned
) -> ContactPipeline:
    """The estimators of contact_node with the parameters of a calibration."""
    given = yaml.safe_load(yaml.safe_dump(parameter_values(identified, learned)))
    return pipeline_of(robot, frame, settings_of(ContactParameters, given))


def _true_model(arm: Arm) -> EffortModel:
    return EffortModel.ideal(arm.described).with_values(
        offset=-arm.offset,
        viscous=arm.viscous,
        coulomb=arm.coulomb,
        rotor_inertia=arm.rotor,
        friction_velocity=arm.smooth,
    )


def _samples(
    arm: Arm,
    motion: Array,
    rng: np.random.Generator,
    external: Array | float = 0.0,
    white: bool = False,
) -> JointSamples:
    """Joint states (3, n, nv) with velocities of a driver, while external torques act.

    Positions have steps of ``ENCODER``, or white noise with this standard deviation.
    """
    effort = arm.efforts(*motion) + arm.noise * rng.normal(size=motion[0].shape) - external
    q = ENCODER * np.round(motion[0] / ENCODER)
    if white:
        q = motion[0] + ENCODER * rng.normal(size=motion[0].shape)
    v = np.diff(q, axis=0, prepend=q[:1]) * RATE
    share = np.exp(-2.0 * np.pi * CUTOFF / RATE)
    for k in range(1, len(v)):
        v[k] += share * (v[k - 1] - v[k])
    t = _times(motion.shape[1] / RATE)
    return JointSamples('simulated', arm.described.joint_names, t, q, v, effort)


def _postures(arm: Arm, count: int, rng: np.random.Generator) -> Array:
    """(3, n, nv) motion to one posture after the other, with a rest of two seconds in each."""
    t = _times(count * BETWEEN + SETTLED)
    low, high = arm.described.lower_limits, arm.described.upper_limits
    middle, half = 0.5 * (low + high), np.minimum(0.5 * (high - low), 1.2)
    middle = np.where(0.5 * (high - low) > np.pi, 0.0, middle)
    there = middle + half * rng.uniform(-1.0, 1.0, (count + 1, len(low)))
    moved = np.zeros((3, len(t), len(low)))
    moved[0] = there[0]
    for number in range(count):
        begin = SETTLED + number * BETWEEN
        inside = (t >= begin) & (t < begin + BETWEEN)
        x = np.minimum(t[inside] - begin, 1.0)[:, np.newaxis]
        way = there[number + 1] - there[number]
        moved[0, inside] = there[number] + way * x**3 * (10.0 + x * (6.0 * x - 15.0))
        moved[1, inside] = way * 30.0 * x**2 * (1.0 - x) ** 2
        moved[2, inside] = way * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x)
    return moved


def _push(number: int) -> tuple[float, float]:
    """Start and end of a push, in the rest of its posture [s]."""
    begin = SETTLED + number * BETWEEN + 1.8
    return begin, begin + LASTS


def _forces(length: int, count: int, rng: np.random.Generator) -> Array:
    """(n, 3) pushes in random directions."""
    forces = np.zeros((length, 3))
    for number in range(count):
        direction = rng.normal(size=3)
        rows = slice(*(round(x * RATE) for x in _push(number)))
        forces[rows] = PUSH * direction / np.linalg.norm(direction)
    return forces


def _times(duration: float) -> Array:
    found: Array = np.arange(round(duration * RATE)) / RATE
    return found
