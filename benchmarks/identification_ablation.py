# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What each mechanism of an identification contributes: results without it, compared with all."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.identification_arms import NAMES, RATE, SUITE, simulated
from benchmarks.identification_recordings import divided
from benchmarks.records import Record
from benchmarks.unmodelled_arms import STICKING, UnmodelledArm
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.evaluation import OPTIONAL
from dynamics_ros.robot import Robot

Array = NDArray[np.float64]

DURATION = 30.0
PUSH, PUSHED = 30.0, (10.0, 12.0)
"""Torque of a push [Nm], and its time [s]."""

LIMIT = 0.96
"""Quantile at which the efforts of the second joint are clipped."""

REFUSED = np.nan
"""Result of an identification that ends with an error."""


class Case(NamedTuple):
    """An arm with two recordings."""

    name: str
    robot: Robot
    train: JointSamples
    test: JointSamples


def ablation(options: argparse.Namespace) -> Iterator[Record]:
    """Residual on other motion, without each mechanism; recorded arms and simulated ones."""
    for case in (*_recorded(options), *_simulated(options)):
        whole = _percent(case, ())
        for mechanism in OPTIONAL:
            without = _percent(case, (mechanism,))
            name = f'{case.name}: residual without {mechanism}'
            yield Record(SUITE, name, case.robot.name, without, '%', 'all', whole)


def _percent(case: Case, without: Sequence[str]) -> float:
    """RMS residual over the RMS effort, on the test recording [%]."""
    try:
        found = identify(case.robot, [case.train], without=without)
    except DynamicsRosError:
        return REFUSED
    own = found.evaluate(case.test)
    return 100.0 * float(np.linalg.norm(own.rms) / np.sqrt((own.measured**2).sum(axis=1).mean()))


def _recorded(options: argparse.Namespace) -> Iterator[Case]:
    for split, subject, train, test in divided(options):
        yield Case(f'recording of {split.robot}', subject.robot, train, test)


def _simulated(options: argparse.Namespace) -> Iterator[Case]:
    """Arms with modelled friction whose recording has a fault, and one with other friction."""
    name = next((one for one in NAMES if (options.robot or NAMES[0]) in one), None)
    if name is None:
        return
    arm, rng = simulated(name, 0), np.random.default_rng(17)
    t, joints = np.arange(0.0, DURATION, 1.0 / RATE), np.arange(arm.described.nv)
    train, test = (arm.recorded(t, arm.motion(t, rng, joints, 1.0), rng) for _ in range(2))
    yield Case('as described', arm.described, train, test)
    yield Case('opposite sign', arm.described, _scaled(train, -1.0), _scaled(test, -1.0))
    during = (t > PUSHED[0]) & (t < PUSHED[1])
    pushed = train.effort + PUSH * during[:, np.newaxis]
    yield Case('push of 2 s', arm.described, replace(train, effort=pushed), test)
    clipped = train.effort.copy()
    most = np.quantile(np.abs(clipped[:, 1]), LIMIT)
    clipped[:, 1] = np.clip(clipped[:, 1], -most, most)
    yield Case('one joint clipped', arm.described, replace(train, effort=clipped), test)
    two = arm.recorded(t, arm.motion(t, rng, joints[:2], 1.0), rng)
    yield Case('two joints move', arm.described, two, test)
    other = UnmodelledArm.made(name, STICKING)
    motions = other.going(DURATION, rng), other.swinging(DURATION, rng)
    stops, swinging = (other.samples(motion, rng) for motion in motions)
    yield Case('ripple and stops', other.described, stops, swinging)


def _scaled(samples: JointSamples, factor: float) -> JointSamples:
    return replace(samples, effort=factor * samples.effort)
