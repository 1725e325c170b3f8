# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pushes on panda and xarm7: force, lag, noise, detection, false alarms, model errors.

The estimators are those of contact_node with default parameters unless a row says otherwise. Their
noise parameters are the actual noise, from which thresholds and covariances follow.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import chi2

from benchmarks.estimation_world import EPOCH, PERIOD, Faults, Motion, PushedArm, Sample
from benchmarks.records import Goal, Record
from benchmarks.robots import SUBJECTS
from benchmarks.timing import wait_until_compiled
from dynamics_ros.estimation import ContactState, WrenchEstimator
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.parameters.contact import ContactParameters

Array = NDArray[np.float64]
Push = Callable[[float], Array]

PUSH = 10.0
"""Size of the push [N]."""

NOTHING = np.zeros(3)

CENTRES = {
    'panda': (0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.8),
    'xarm7': (0.3, 0.2, -0.2, 1.0, 0.3, 1.2, 0.3),
}
"""Postures without nearby singularities [rad]."""

AMPLITUDE = (0.6, 0.35, 0.4, 0.35, 0.5, 0.4, 0.6)
"""Amplitudes of the fast motion [rad]."""

FREQUENCY = (0.5, 0.6, 0.7, 0.55, 0.8, 0.9, 0.75)
"""Frequencies of the fast motion [Hz]: up to 3 rad/s, more than panda's limits."""

SETTLED = 1.5
"""Time after which the motion has its full amplitude and the observer has settled [s]."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of reported values [rad, rad/s, Nm]."""

    position: float = 1e-5
    velocity: float = 1e-3
    effort: float = 0.05

    def of(self, sample: Sample, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Reported q, v and effort of a sample, with noise."""
        size = len(sample.v)
        return (
            sample.q + self.position * rng.normal(size=size),
            sample.v + self.velocity * rng.normal(size=size),
            sample.effort + self.effort * rng.normal(size=size),
        )


NONE = Noise(0.0, 0.0, 0.0)
NOISE = Noise()


class Setting:
    """A simulated arm with a posture and a fast motion."""

    def __init__(self, name: str, faults: Faults | None = None) -> None:
        subject = next(subject for subject in SUBJECTS if subject.name == name)
        self.name, self.subject = name, subject
        self.arm = PushedArm(subject, faults or Faults())
        centre, size = np.array(CENTRES[name]), len(CENTRES[name])
        self.still = Motion(centre, np.zeros(size), np.ones(size))
        self.fast = Motion(centre, np.array(AMPLITUDE), np.array(FREQUENCY))

    def pipeline(
        self, noise: Noise, *, sampling: str = 'interval', exact_model: bool = False
    ) -> ContactPipeline:
        """The estimators of contact_node for a noise, and optionally for an exact model."""
        defaults = ContactParameters()
        effort = replace(
            defaults.effort,
            sampling=sampling,
            noise=(max(noise.effort, 1e-6),),
            velocity_noise=(noise.velocity,),
            model_error=(1e-6,) if exact_model else defaults.effort.model_error,
        )
        # The pushes of the simulation are in root axes.
        wrench = replace(defaults.wrench, expressed_in=self.arm.robot.root_frame)
        values = replace(defaults, frames=(self.arm.frame,), effort=effort, wrench=wrench)
        pipeline = ContactPipeline(self.arm.robot, values, self.arm.frame)
        pipeline.compile()
        wait_until_compiled()
        return pipeline


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Records of the arms."""
    for name in CENTRES:
        if options.robot not in name:
            continue
        setting = Setting(name)
        yield from _at_rest(setting)
        yield from _in_motion(setting)
        yield from _with_noise(setting, options.quick)
        yield from _detection(setting, options.quick)
        yield from _false_alarms(setting, options.quick)
        yield from _model_error(name, options.quick)


def state_of(sample: Sample, reported: tuple[Array, Array, Array]) -> RobotState:
    """The robot state of a sample with reported values."""
    return RobotState(sample.stamp, *reported, (), (), (), np.zeros(len(sample.v), dtype=bool))


def constant(direction: tuple[float, float, float], begin: float) -> Push:
    """A constant push from a time on."""
    force = PUSH * np.array(direction) / np.linalg.norm(direction)
    return lambda t: force if t >= begin else NOTHING


def lagged(samples: list[Sample], gain: float) -> Array:
    """(n, nv) external torques after an exact first-order filter of this gain, from zero on."""
    decay = np.exp(-gain * PERIOD)
    state = np.zeros_like(samples[0].external)
    result = [state]
    for before, now in pairwise(samples):
        # A push that changes at a sample acts after that sample.
        switched = (before.force != now.force).any()
        mean = before.external if switched else 0.5 * (before.external + now.external)
        state = mean + decay * (state - mean)
        result.append(state)
    return np.array(result)


def _at_rest(setting: Setting) -> Iterator[Record]:
    samples = setting.arm.run(2.5, setting.still, constant((0.6, -0.5, 0.62), 0.5))
    pipeline = setting.pipeline(NONE)
    for sample in samples:
        state = state_of(sample, (sample.q, sample.v, sample.effort))
        external = pipeline.update(state)
    assert external is not None
    (estimate,) = pipeline.wrenches(state, external.values)
    error = float(np.linalg.norm(estimate.wrench[:3] - sample.force))
    yield _record(setting, 'push at rest: error', error, 'N', Goal(0.01, of='value'))


def _in_motion(setting: Setting) -> Iterator[Record]:
    """Lag, and RMS beyond it, for held and for sensed torques."""
    push = constant((0.6, -0.5, 0.62), 0.0)
    for sampling, words in (('interval', 'commanded'), ('instant', 'sensed')):
        samples = list(setting.arm.run(5.0, setting.fast, push, held=sampling == 'interval'))
        pipeline = setting.pipeline(NONE, sampling=sampling)
        observer = pipeline.observer
        felt = np.array([observer.update(s.stamp, s.q, s.v, s.effort) for s in samples])
        gain = float(observer.gain[0])
        late = slice(round(SETTLED / PERIOD), None)
        errors = _forces(pipeline, samples[late], (felt - lagged(samples, gain))[late])
        case = f'fast motion, {words} torque'
        if sampling == 'interval':
            deviation = 100.0 * abs(_fitted_gain(samples, felt, late) / gain - 1.0)
            goal = Goal(2.0, of='value')
            yield _record(setting, 'fast motion: lag off K/(s+K)', deviation, '%', goal)
            raw = _forces(pipeline, samples[late], felt[late]) - [s.force for s in samples[late]]
            yield _record(setting, 'fast motion: RMS with the lag', _rms(raw), 'N')
        yield _record(setting, f'{case}: RMS', _rms(errors), 'N', Goal(0.05, of='value'))


def _fitted_gain(samples: list[Sample], felt: Array, late: slice) -> float:
    """Gain of the first-order filter of the true torques that fits the estimate best."""

    def squares(gain: float) -> float:
        return float(np.square((felt - lagged(samples, gain))[late]).sum())

    found = minimize_scalar(
        squares, bounds=(20.0, 200.0), method='bounded', options={'xatol': 1e-3}
    )
    return float(found.x)


def _with_noise(setting: Setting, quick: bool) -> Iterator[Record]:
    """A push in the noisy motion: force error beyond the lag, and consistency of its covariance.

    The covariance has to be that of the noise, so ``effort.model_error`` is almost zero.
    """
    rng = np.random.default_rng(1)
    duration = 5.0 if quick else 60.0
    samples = list(setting.arm.run(duration, setting.fast, constant((0.6, -0.5, 0.62), 0.0)))
    pipeline = setting.pipeline(NOISE, exact_model=True)
    gain = float(pipeline.observer.gain[0])
    truth = lagged(samples, gain)
    ideal = WrenchEstimator(setting.arm.robot, setting.arm.frame)
    errors, normalised = [], []
    # After five time constants, the noise of two samples is practically independent.
    apart = round(5.0 / gain / PERIOD)
    for k, sample in enumerate(samples):
        state = state_of(sample, NOISE.of(sample, rng))
        external = pipeline.update(state)
        if external is None or k * PERIOD < SETTLED:
            continue
        (estimate,) = pipeline.wrenches(state, external.values)
        (expected,) = ideal.estimate(sample.q, truth[k])
        error = estimate.wrench - expected.wrench
        errors.append(error[:3])
        if k % apart == 0:
            normalised.append(error @ np.linalg.solve(estimate.covariance, error))
    case = 'fast motion with noise'
    yield _record(setting, f'{case}: RMS', _rms(np.array(errors)), 'N', Goal(0.5, of='value'))
    count = len(normalised)
    low, high = chi2.ppf((0.025, 0.975), 6 * count) / (6 * count)
    mean = float(np.mean(normalised)) / 6.0
    yield _record(setting, f'{case}: normalised error', mean, '-')
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    outside = abs(mean - middle) / half
    yield _record(setting, f'{case}: of its 95 % band', outside, '-', Goal(1.0, of='value'))


def _detection(setting: Setting, quick: bool) -> Iterator[Record]:
    """Time from a step of the force to the contact state, at rest, in random directions."""
    for noise, told, words, limit in (
        (NONE, NONE, 'without noise', 3.0),
        (NONE, NOISE, 'without noise, defaults', None),
        (NOISE, NOISE, 'with noise', 10.0),
    ):
        times = _detection_times(setting, 4 if quick else 40, noise, told)
        goal = None if limit is None else Goal(limit, of='value')
        yield _record(setting, f'step found, {words}: median', float(np.median(times)), 'ms')
        yield _record(setting, f'step found, {words}: worst', float(np.max(times)), 'ms', goal)


def _detection_times(setting: Setting, pushes: int, noise: Noise, told: Noise) -> list[float]:
    """Detection times of the pushes [ms]; infinite if a push is not detected while it lasts."""
    rng = np.random.default_rng(2)
    directions = rng.normal(size=(pushes, 3))
    directions *= PUSH / np.linalg.norm(directions, axis=1)[:, np.newaxis]
    # Rest for half a second, then a push of 0.1 s in every half second.
    rhythm, lasting = 500, 100

    def phase(t: float) -> tuple[int, int]:
        index, rest = divmod(round(t / PERIOD), rhythm)
        return index - 1, rest

    def push(t: float) -> Array:
        index, rest = phase(t)
        return directions[index] if index >= 0 and rest < lasting else NOTHING

    pipeline = setting.pipeline(told)
    times = [np.inf] * pushes
    duration = rhythm * PERIOD * (pushes + 1) - PERIOD
    for k, sample in enumerate(setting.arm.run(duration, setting.still, push)):
        reported = (
            noise.of(sample, rng) if noise is not NONE else (sample.q, sample.v, sample.effort)
        )
        external = pipeline.update(state_of(sample, reported))
        index, rest = phase(k * PERIOD)
        if external is None or index < 0 or rest >= lasting:
            continue
        if external.report.state is not ContactState.NONE:
            # The first sample of a push is taken before the push acts: it counts as time 0.
            times[index] = min(times[index], 1e3 * PERIOD * rest)
    return times


def _false_alarms(setting: Setting, quick: bool) -> Iterator[Record]:
    """Number of reported contacts in a noisy motion without contact."""
    rng = np.random.default_rng(3)
    minutes = 0.1 if quick else 10.0
    pipeline = setting.pipeline(NOISE)
    alarms, before = 0, ContactState.NONE
    for sample in setting.arm.run(60.0 * minutes, setting.fast, lambda _: NOTHING):
        external = pipeline.update(state_of(sample, NOISE.of(sample, rng)))
        state = ContactState.NONE if external is None else external.report.state
        alarms += state is not ContactState.NONE and before is ContactState.NONE
        before = state
    words = f'false alarms in {minutes:g} min of noise'
    yield _record(setting, words, float(alarms), '-', Goal(0.0, of='value'))


def _model_error(name: str, quick: bool) -> Iterator[Record]:
    """A push at rest, and free motion, of a robot that differs from its description; also tared."""
    wrong = (
        (Faults(mass=1.1), 'masses +10 %'),
        (Faults(mass=0.9), 'masses -10 %'),
        (Faults(friction=0.02), 'unknown friction'),
    )
    for faults, words in wrong[:1] if quick else wrong:
        setting = Setting(name, faults)
        tare = np.zeros(setting.arm.robot.nv)
        for tared in (False, True):
            pipeline = setting.pipeline(NONE)
            # At rest until the tare, then pushed.
            push = constant((0.6, -0.5, 0.62), 2.0)
            for sample in setting.arm.run(2.5, setting.still, push):
                state = state_of(sample, (sample.q, sample.v, sample.effort))
                external = pipeline.update(state)
                if tared and sample.stamp == EPOCH + round(1.9e9):
                    if not pipeline.tare.take().success:
                        raise RuntimeError('a tare at rest is refused')
                    tare = pipeline.tare.offset
            assert external is not None
            (estimate,) = pipeline.wrenches(state, external.values)
            pushed = float(np.linalg.norm(estimate.wrench[:3] - sample.force))
            observer = pipeline.observer
            observer.reset()
            samples = list(setting.arm.run(3.0, setting.fast, lambda _: NOTHING))
            felt = np.array([observer.update(s.stamp, s.q, s.v, s.effort) for s in samples])
            late = slice(round(SETTLED / PERIOD), None)
            moving = _rms(_forces(pipeline, samples[late], (felt - tare)[late]))
            suffix = ', tared' if tared else ''
            yield _record(setting, f'{words}{suffix}: push at rest', pushed, 'N')
            yield _record(setting, f'{words}{suffix}: in motion, RMS', moving, 'N')


def _forces(pipeline: ContactPipeline, samples: list[Sample], torques: Array) -> Array:
    """(n, 3) estimated forces for external torques (n, nv)."""
    return np.array(
        [
            pipeline.wrenches(state_of(s, (s.q, s.v, s.effort)), torque)[0].wrench[:3]
            for s, torque in zip(samples, torques, strict=True)
        ]
    )


def _rms(vectors: Any) -> float:
    """Root mean square of the norms of vectors (n, 3)."""
    return float(np.sqrt(np.mean(np.sum(np.square(vectors), axis=1))))


def _record(
    setting: Setting, case: str, value: float, unit: str, goal: Goal | None = None
) -> Record:
    return Record('estimation', case, setting.name, value, unit, goal=goal)
