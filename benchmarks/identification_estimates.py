"""What a calibration makes of the estimates of contact_node: pushes, false alarms, deviations.

Of each arm a minute of motion is recorded, identified and written as parameters; then the
estimators of contact_node run over other motion, at their defaults and as calibrated.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks.identification_arms import SUITE
from benchmarks.records import Goal, Record
from benchmarks.timing import wait_until_compiled
from benchmarks.unmodelled_arms import URDFS, Faults, Motion, UnmodelledArm
from dynamics_ros import Robot
from dynamics_ros.calibration.node_parameters import parameter_values
from dynamics_ros.estimation import ContactState
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.uncertainty import calibrated_robot, learn
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.settings import declared, replaced

Array = NDArray[np.float64]

FAULTS = {
    'friction of 1 to 3 Nm': Faults(friction=(1.0, 3.0)),
    'masses +10 %': Faults(mass=1.1),
    'torque noise of 0.3 Nm': Faults(effort_noise=0.3),
    'encoder step of 1e-4 rad': Faults(encoder=1e-4, velocity_filter=0.0),
}

TRAINED = 60.0
"""s."""

FREE, FREE_QUICKLY = 600.0, 60.0
"""s of free motion in which contacts are false."""

PUSHES, PUSH, PERIOD, LASTS = 45, 10.0, 1.5, 0.5
"""Their number; N; s from one to the next; s."""

EVERY = 10
"""States of which the wrench is compared."""

SETTLED = 1.5
"""s."""


@dataclass(frozen=True)
class Felt:
    """What estimators make of a recording.

    Attributes:
        contact: (n) whether there is one, at each state.
        error: (k, 3) of forces that are estimated [N].
        normalised: (k) the same over what is stated, 1 where that is right.
    """

    contact: NDArray[np.bool_]
    error: Array
    normalised: Array

    @property
    def alarms(self) -> int:
        """How often a contact begins."""
        return int(np.count_nonzero(np.diff(self.contact.astype(int)) > 0))


def run(options: argparse.Namespace) -> Iterator[Record]:
    """All rows."""
    for name in URDFS:
        if options.robot in name:
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
        ('defaults', _pipeline(arm.described, arm.frame, ContactParameters())),
        ('calibrated', calibrated(arm, rng)),
    ):
        found = felt(pipeline, recorded, np.zeros((len(free.t), 3)))
        caught = felt(pipeline, of_pushes, forces)
        yield from _records(name, f'{words}, {state}', found, _caught(pushed, caught))


def calibrated(arm: UnmodelledArm, rng: np.random.Generator) -> ContactPipeline:
    """The estimators with what a calibration writes."""
    recording = arm.samples(arm.swinging(TRAINED, rng), rng)
    identified = identify(arm.described, [recording])
    learned = learn(identified, [recording])
    text = yaml.safe_dump(parameter_values(identified, learned))
    values = ContactParameters()
    given = yaml.safe_load(io.StringIO(text))
    for item in declared(ContactParameters):
        group, *rest = item.path
        if group in given and rest and rest[0] in given[group]:
            values = replaced(values, item.path, item.checked(given[group][rest[0]]))
    return _pipeline(calibrated_robot(identified), arm.frame, values)


def _pipeline(robot: Robot, frame: str, values: ContactParameters) -> ContactPipeline:
    for path, value in ((('frames',), (frame,)), (('wrench', 'expressed_in'), robot.root_frame)):
        values = replaced(values, path, value)
    pipeline = ContactPipeline(robot, values, frame)
    pipeline.compile(wait=True)
    wait_until_compiled()
    return pipeline


def felt(pipeline: ContactPipeline, samples: JointSamples, forces: Array) -> Felt:
    """Run estimators over a recording with known forces (n, 3) in root axes."""
    pipeline.reset()
    nv = len(samples.joint_names)
    nothing = np.zeros(nv, dtype=bool)
    assert samples.velocity is not None
    contact = np.zeros(len(samples), dtype=bool)
    errors, normalised = [], []
    rows = zip(samples.time, samples.position, samples.velocity, samples.effort, strict=True)
    for k, (time, q, v, effort) in enumerate(rows):
        stamp = EPOCH + round(time * 1e9)
        state = RobotState(stamp, q, v, effort, (), (), (), nothing)
        external = pipeline.update(state)
        if time < SETTLED or external is None:
            continue
        contact[k] = external.report.state is not ContactState.NONE
        if external.report.collision_latched:
            pipeline.detector.reset()
        if k % EVERY == 0:
            (estimate,) = pipeline.wrenches(pipeline.judged or state, external.values)
            error = estimate.wrench[:3] - forces[k]
            errors.append(error)
            weighed = error @ np.linalg.solve(estimate.covariance[:3, :3], error)
            normalised.append(np.sqrt(weighed / 3.0))
    return Felt(contact, np.array(errors), np.array(normalised))


EPOCH = 1_750_000_000 * 10**9


def _forces(t: Array, rng: np.random.Generator) -> Array:
    """(n, 3) pushes in random directions, one a period."""
    forces = np.zeros((len(t), 3))
    for number in range(PUSHES):
        direction = rng.normal(size=3)
        begin = SETTLED + number * PERIOD + 0.5
        inside = (t >= begin) & (t < begin + LASTS)
        forces[inside] = PUSH * direction / np.linalg.norm(direction)
    return forces


def _caught(motion: Motion, found: Felt) -> int:
    """Pushes during which a contact begins that was not there before."""
    caught = 0
    for number in range(PUSHES):
        begin = SETTLED + number * PERIOD + 0.5
        before = found.contact[(motion.t >= begin - 0.2) & (motion.t < begin)]
        during = found.contact[(motion.t >= begin) & (motion.t < begin + LASTS)]
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
