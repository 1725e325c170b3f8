# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pushes on a calibrated arm that stands, and false alarms of its starts and stops.

An arm with stiction is calibrated from a minute of motion. It then moves between postures and
rests at each. Without a push, every contact is a false alarm. In a repetition, single joints are
pushed at rest by 3 times the largest residual of that joint without a push, once with each sign.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.identification_estimates import TRAINED, calibrated, told
from benchmarks.records import Goal, Record
from benchmarks.unmodelled_arms import RATE, STICKING, Faults, Motion, UnmodelledArm, named
from dynamics_ros.estimation import ContactState
from dynamics_ros.estimation.contact_pipeline import ContactPipeline
from dynamics_ros.identification import JointSamples

Array = NDArray[np.float64]

FREE, FREE_QUICKLY = 300.0, 60.0
"""Duration of free motion with starts and stops [s]."""

REST, SETTLING = 2.0, 1.0
"""Duration of a rest, and of its part before a push [s]."""

PUSH_RATIO = 3.0
"""Ratio of a push to the largest free residual of its joint."""

TRAININGS = {'without stops': UnmodelledArm.swinging, 'with stops': UnmodelledArm.going}


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Records of all arms."""
    for name in named(options.robot):
        for words in TRAININGS:
            duration = FREE_QUICKLY if options.quick else FREE
            alarms, found, pushes = standstill(name, words, STICKING, duration)
            case = f'standstill, calibrated {words}'
            yield Record(
                'estimation', f'{case}: false alarms', name, alarms, '', goal=Goal(0, of='value')
            )
            yield Record(
                *('estimation', f'{case}: pushes found', name, found, f'of {pushes}'),
                goal=Goal(pushes, of='value', at_least=True),
            )


def standstill(name: str, training: str, faults: Faults, duration: float) -> tuple[int, int, int]:
    """Numbers of false alarms, of pushes that are found, and of pushes."""
    arm, rng = UnmodelledArm.made(name, faults), np.random.default_rng(17)
    recording = arm.samples(TRAININGS[training](arm, TRAINED, rng), rng)
    pipeline = calibrated(arm, recording)
    motion, rests = _resting(arm, duration, rng)
    contact, residuals = _felt(pipeline, arm.samples(motion, rng))
    alarms = int(np.count_nonzero(np.diff(contact.astype(int)) > 0))
    largest = np.nanmax(np.abs(residuals), axis=0)
    external = np.zeros(motion.q.shape)
    for number, (begin, end) in enumerate(rests):
        joint, sign = number // 2 % external.shape[1], 1.0 - 2.0 * (number % 2)
        external[begin:end, joint] = sign * PUSH_RATIO * largest[joint]
    pushed, _ = _felt(pipeline, arm.samples(motion, rng, external))
    found = sum(bool(pushed[begin:end].any()) for begin, end in rests)
    return alarms, found, len(rests)


def _resting(
    arm: UnmodelledArm, duration: float, rng: np.random.Generator
) -> tuple[Motion, list[tuple[int, int]]]:
    """Motion between postures with a rest at each, and (begin, end) rows of a push in each rest."""
    t, middle, half = arm.span(duration)
    q, v, a = np.zeros((3, len(t), len(middle)))
    here, begin, rests = middle, 0, []
    while begin < len(t):
        there = middle + half * rng.uniform(-1.0, 1.0, len(middle))
        # Some joints stay at rest.
        there = np.where(rng.random(len(middle)) < 0.25, here, there)
        time = max(0.5, 1.875 * float(np.abs(there - here).max()) / rng.uniform(0.1, 1.0))
        stop, end = (begin + round(RATE * x) for x in (time, time + REST))
        x = np.minimum(np.arange(end - begin)[: len(t) - begin, np.newaxis] / RATE / time, 1.0)
        rows = slice(begin, begin + len(x))
        q[rows] = here + (there - here) * x**3 * (10.0 + x * (6.0 * x - 15.0))
        v[rows] = (there - here) * 30.0 * x**2 * (1.0 - x) ** 2 / time
        a[rows] = (there - here) * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / time**2
        if end <= len(t):
            rests.append((stop + round(RATE * SETTLING), end - round(0.2 * RATE)))
        here, begin = there, end
    return Motion(t, q, v, a), rests


def _felt(pipeline: ContactPipeline, samples: JointSamples) -> tuple[NDArray[np.bool_], Array]:
    """(n) whether a contact is reported, (n, nv) external torques; NaN until they are known."""
    contact = np.zeros(len(samples), dtype=bool)
    residuals = np.full(samples.position.shape, np.nan)
    for k, (_, external) in enumerate(told(pipeline, samples)):
        if external is not None:
            contact[k] = external.report.state is not ContactState.NONE
            residuals[k] = external.values
    return contact, residuals
