# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Effect of a calibration on the estimates of contact_node: pushes, false alarms, deviations.

A minute of motion of each arm is recorded and identified, and the parameters are written. The
estimators of contact_node then process other motion, with default and with calibrated parameters.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks.identification_arms import SUITE
from benchmarks.records import Goal, Record
from benchmarks.timing import wait_until_compiled
from benchmarks.unmodelled_arms import Faults, Motion, UnmodelledArm, named
from dynamics_ros import Robot
from dynamics_ros.calibration.outputs import parameter_values
from dynamics_ros.estimation import (
    ContactState,
    ExternalTorques,
)
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.uncertainty import calibrated_robot, learn
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.recordings.settings import settings_of
from dynamics_ros.settings import replaced

Array = NDArray[np.float64]

FAULTS = {
    'friction of 1 to 3 Nm': Faults(friction=(1.0, 3.0)),
    'masses +10 %': Faults(mass=1.1),
    'torque noise of 0.3 Nm': Faults(effort_noise=0.3),
    'encoder step of 1e-4 rad': Faults(encoder=1e-4, velocity_filter=0.0),
}

TRAINED = 60.0
"""Duration of the recording for the calibration [s]."""

FREE, FREE_QUICKLY = 600.0, 60.0
"""Duration of free motion, in which all contacts are false [s]."""

PUSHES, PUSH, PERIOD, LASTS = 45, 10.0, 1.5, 0.5
"""Number of pushes; force [N]; time between two pushes [s]; duration of a push [s]."""

EVERY = 10
"""Interval of states whose wrench is evaluated."""

SETTLED = 1.5
"""Settling time [s]."""


@dataclass(frozen=True)
class Felt:
    """Results of estimators on a recording.

    Attributes:
        contact: (n) whether a contact is reported at each state.
        error: (k, 3) errors of estimated forces [N].
        normalised: (k) errors over their stated deviations, about 1 if these are right.
    """

    contact: NDArray[np.bool_]
    error: Array
    normalised: Array

    @property
    def alarms(self) -> int:
        """Number of contacts that begin."""
        return int(np.count_nonzero(np.diff(self.contact.astype(int)) > 0))


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Records of all arms and faults."""
    for name in named(options.robot):
        for words, faults in FAULTS.items():
            yield from _case(name, words, faults, options.quick)


def _case(name: str, words: str, faults: Faults, quick: bool) -> Iterator[Record]:
    arm, rng = UnmodelledArm.made(name, faults), np.random.default_rng(11)
    free = arm.swinging(FREE_QUICKLY if quick else FREE, rng)
    pushed = arm.swinging(PUSHES * PERIOD + SETTLED, rng)
    forces = _forces(pushed.t, rng)
    J = arm.described.jacobian(pushed.q, arm.frame)[:, :3]
    recorded = arm.samples(free, rng)
    of_pushes = arm.samples(pushed, rng, np.einsum('tij,ti->tj', J, forces))
    for state, pipeline in (
        ('defaults', pipeline_of(arm.described, arm.frame, ContactParameters())),
        ('calibrated', calibrated(arm, arm.samples(arm.swinging(TRAINED, rng), rng))),
    ):
        found = felt(pipeline, recorded, np.zeros((len(free.t), 3)))
        caught = felt(pipeline, of_pushes, forces)
        yield from _records(name, f'{words}, {state}', found, _detected_pushes(pushed, caught))


def _push_interval(number: int) -> tuple[float, float]:
    """Start and end of a push [s]."""
    begin = SETTLED + number * PERIOD + 0.5
    return begin, begin + LASTS


def calibrated(arm: UnmodelledArm, recording: JointSamples) -> ContactPipeline:
    """The estimators with the parameters of a calibration."""
    identified = identify(arm.described, [recording])
    learned = learn(identified, [recording])
    given = yaml.safe_load(yaml.safe_dump(parameter_values(identified, learned)))
    values = settings_of(ContactParameters, given)
    return pipeline_of(calibrated_robot(identified), arm.frame, values)


def pipeline_of(robot: Robot, frame: str, values: ContactParameters) -> ContactPipeline:
    """The compiled estimators with parameters, for a frame in root axes."""
    for path, value in ((('frames',), (frame,)), (('wrench', 'expressed_in'), robot.root_frame)):
        values = replaced(values, path, value)
    pipeline = ContactPipeline(robot, values, frame)
    pipeline.compile(wait=True)
    wait_until_compiled()
    return pipeline


def told(
    pipeline: ContactPipeline, samples: JointSamples
) -> Iterator[tuple[RobotState, ExternalTorques | None]]:
    """Run estimators over a recording, and acknowledge collisions at once."""
    pipeline.reset()
    nothing = np.zeros(len(samples.joint_names), dtype=bool)
    assert samples.velocity is not None
    rows = zip(samples.time, samples.position, samples.velocity, samples.effort, strict=True)
    for time, q, v, effort in rows:
        state = RobotState(EPOCH + round(time * 1e9), q, v, effort, (), (), (), nothing)
        external = pipeline.update(state)
        yield pipeline.estimated_state or state, external
        if external is not None and external.report.collision_latched:
            pipeline.detector.reset()


def felt(pipeline: ContactPipeline, samples: JointSamples, forces: Array) -> Felt:
    """Results of estimators on a recording with known forces (n, 3) in root axes."""
    contact = np.zeros(len(samples), dtype=bool)
    errors, normalised = [], []
    for k, (state, external) in enumerate(told(pipeline, samples)):
        if samples.time[k] < SETTLED or external is None:
            continue
        contact[k] = external.report.state is not ContactState.NONE
        if k % EVERY == 0:
            (estimate,) = pipeline.wrenches(state, external.values)
            error = estimate.wrench[:3] - forces[k]
            errors.append(error)
            weighed = error @ np.linalg.solve(estimate.covariance[:3, :3], error)
            normalised.append(np.sqrt(weighed / 3.0))
    return Felt(contact, np.array(errors), np.array(normalised))


EPOCH = 1_750_000_000 * 10**9


def _forces(t: Array, rng: np.random.Generator) -> Array:
    """(n, 3) pushes in random directions, one per ``PERIOD``."""
    forces = np.zeros((len(t), 3))
    for number in range(PUSHES):
        direction = rng.normal(size=3)
        begin, end = _push_interval(number)
        inside = (t >= begin) & (t < end)
        forces[inside] = PUSH * direction / np.linalg.norm(direction)
    return forces


def _detected_pushes(motion: Motion, found: Felt) -> int:
    """Number of pushes during which a new contact begins."""
    caught = 0
    for number in range(PUSHES):
        begin, end = _push_interval(number)
        before = found.contact[(motion.t >= begin - 0.2) & (motion.t < begin)]
        during = found.contact[(motion.t >= begin) & (motion.t < end)]
        caught += bool(during.any() and not before.any())
    return caught


def _records(name: str, words: str, found: Felt, caught: int) -> Iterator[Record]:
    after = words.endswith('calibrated')
    rms = float(np.sqrt((found.error**2).sum(axis=1).mean())) if len(found.error) else np.nan
    normalised = float(found.normalised.mean()) if len(found.normalised) else np.nan
    share = 100.0 * float(found.contact.mean())

    def record(what: str, value: float, unit: str, goal: Goal | None) -> Record:
        return Record(SUITE, f'{words}: {what}', name, value, unit, goal=goal if after else None)

    most = 5.0 if 'friction' in words else 0.5 if 'masses' in words else None
    yield record('force RMS', rms, 'N', None if most is None else Goal(most, of='value'))
    yield record(f'{PUSH:g} N found', caught, f'of {PUSHES}', Goal(40, of='value', at_least=True))
    yield record('false alarms', found.alarms, '', Goal(1, of='value'))
    yield record('time in false contact', share, '%', None)
    yield record('normalised error', normalised, '', Goal(2.0, of='value'))
    least = Goal(0.5, of='value', at_least=True)
    yield record('normalised error, not less than', normalised, '', least)
