# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What each mechanism of the contact pipeline is for: false alarms and pushes found without it.

Arms with friction, ripple, noise and stops are calibrated from a minute of motion. The calibrated
pipeline then processes other motion, once complete and once without each mechanism: free motion,
motion faults of drivers (outliers, frozen and zero efforts, lost and late messages, two publishers
of which one pauses), changes that nobody reported, and pushes in motion and at rest. The location
of pushes in MuJoCo is likewise estimated without each of its mechanisms.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks import estimation_contacts
from benchmarks.estimation_arms import NOISE
from benchmarks.identification_estimates import (
    EPOCH,
    SETTLED,
    TRAINED,
    Array,
    calibrated,
    pipeline_of,
)
from benchmarks.records import Record
from benchmarks.unmodelled_arms import RATE, STICKING, Motion, UnmodelledArm, named
from dynamics_ros.estimation import ContactPipeline, ContactState
from dynamics_ros.estimation.contact import location
from dynamics_ros.estimation.contact_settings import UnexplainedSettings
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.estimation.samples.timeline import OVERDUE_AFTER
from dynamics_ros.identification import JointSamples

LENGTH, LENGTH_QUICKLY = 90.0, 30.0
"""Duration of each test [s]."""

PUSH, EVERY, LASTS = 10.0, 1.5, 0.5
"""Force on the hand [N], time between the beginnings of two pushes, duration of a push [s]."""

LATE = round(0.04 * RATE)
"""Number of samples that arrive in one burst."""

Change = Callable[[ContactPipeline], object]


@dataclass(frozen=True, eq=False)
class Case:
    """Joint states of one test.

    Attributes:
        samples: joint states.
        pushes: (begin, end) of pushes [s]; empty if every contact is false.
        ages: (n, nv) ages of the reports [s]; None for one publisher.
    """

    samples: JointSamples
    pushes: tuple[tuple[float, float], ...] = ()
    ages: Array | None = None


def _set(path: str, value: Any) -> Change:
    """A change of a setting: 'group.name'."""

    def change(pipeline: ContactPipeline) -> object:
        group, name = path.split('.')
        changed = replace(getattr(pipeline.values, group), **{name: value})
        return replace(pipeline.values, **{group: changed})

    return change


def _patch(path: str, function: Callable[..., Any]) -> Change:
    """A replacement of a method: 'part.method'; the function also receives the original."""

    def change(pipeline: ContactPipeline) -> None:
        *parts, name = path.split('.')
        owner: Any = pipeline
        for part in parts:
            owner = getattr(owner, part)
        original = getattr(owner, name)
        setattr(owner, name, lambda *given, **named: function(original, *given, **named))

    return change


def _pass(original: Callable[..., Any], state: RobotState, **options: bool) -> list[RobotState]:
    original(state, **options)  # counts how long efforts stay unchanged
    return [state]


MECHANISMS: dict[str, tuple[Change, ...]] = {
    'everything': (),
    'residual model (unexplained.*)': (
        lambda p: replace(p.values, unexplained=UnexplainedSettings()),
    ),
    'its term of speed': (_set('unexplained.speed', ()),),
    'its term of load': (_set('unexplained.load', ()),),
    'its term of reversals': (_set('unexplained.reversal', ()),),
    'its term of standstill': (_set('unexplained.standing', ()),),
    'its tail': (_set('unexplained.tail', ()),),
    'residual watch': (_patch('residuals.add', lambda *_: None),),
    'sample filter': (_patch('samples.take', _pass),),
    'watch for unmeasured efforts': (
        _patch('effort_watch.contradicts', lambda *_: False),
        _patch('effort_watch.stands_still', lambda *_: False),
    ),
    'overdue joints': (_patch('_problem', lambda *_: ''),),
    'cadence': (_patch('observer.cadence.uneven', lambda *_: False),),
    'debouncing': (lambda p: setattr(p.detector, '_debounce', 0),),
    'fixed friction, with adaptation': (_set('adaptation.share', 0.5),),
}

LOCATION: dict[str, tuple[Any, str, object] | None] = {
    'everything': None,
    'occlusion': (location, 'occluded', lambda points, *_: points[:, 0] > np.inf),
    'larger noise than stated': (location, 'NOISE_RATIOS', location.NOISE_RATIOS[:1]),
}
"""Replaced attribute of each mechanism of the contact location: owner, name, value."""

PUSHES_ON_LINK = 25
"""Pushes on each link, 12 of them with ``--quick``."""


def ablation(options: argparse.Namespace) -> Iterator[Record]:
    """Records of all mechanisms, arms and cases."""
    for name in named(options.robot):
        arm, rng = UnmodelledArm.made(name, STICKING), np.random.default_rng(21)
        usual = calibrated(arm, arm.samples(arm.swinging(TRAINED, rng), rng))
        cases = dict(_cases(arm, LENGTH_QUICKLY if options.quick else LENGTH))
        for mechanism, changes in MECHANISMS.items():
            without = '' if mechanism == 'everything' else 'without '
            for words, case in cases.items():
                pipeline = _changed(arm, usual, changes)
                title = f'{without}{mechanism}: {words}'
                contact = _contacts(pipeline, case)
                begins = case.samples.time[1:][np.diff(contact.astype(int)) > 0]
                if case.pushes:
                    found = sum(bool(((begins >= a) & (begins < b)).any()) for a, b in case.pushes)
                    yield Record('estimation', title, name, found, f'of {len(case.pushes)}')
                else:
                    alarms = int(np.count_nonzero(begins >= SETTLED))
                    yield Record('estimation', title, name, alarms, 'alarms')
    yield from _location(options)


def _location(options: argparse.Namespace) -> Iterator[Record]:
    """Records of the contact location without each of its mechanisms."""
    pushes = 12 if options.quick else PUSHES_ON_LINK
    for name in named(options.robot, estimation_contacts.CENTRES):
        for mechanism, replaced in LOCATION.items():
            words = f'without {mechanism}' if replaced else 'everything'
            with patch.object(*replaced) if replaced else nullcontext():
                yield from estimation_contacts.on_links(name, NOISE, words, pushes)


def _changed(
    arm: UnmodelledArm, usual: ContactPipeline, changes: tuple[Change, ...]
) -> ContactPipeline:
    """A new pipeline with other settings, or with methods replaced."""
    settings = [found for found in (change(usual) for change in changes) if found is not None]
    pipeline = pipeline_of(usual.robot, arm.frame, settings[0] if settings else usual.values)
    if not settings:
        for change in changes:
            change(pipeline)
    return pipeline


def _contacts(pipeline: ContactPipeline, case: Case) -> NDArray[np.bool_]:
    """(n) whether a contact is reported at each joint state."""
    samples = case.samples
    fresh = np.zeros(len(samples.joint_names), dtype=bool)
    contact = np.zeros(len(samples), dtype=bool)
    assert samples.velocity is not None
    for k, time in enumerate(samples.time):
        ages = overdue = None
        if case.ages is not None:
            ages = np.round(1e9 * case.ages[k]).astype(np.int64)
            overdue = case.ages[k] > OVERDUE_AFTER / RATE
        given = samples.position[k], samples.velocity[k], samples.effort[k], (), (), (), fresh
        external = pipeline.update(RobotState(EPOCH + round(time * 1e9), *given, ages, overdue))
        if external is not None:
            contact[k] = external.report.state is not ContactState.NONE
            if external.report.collision_latched:
                pipeline.detector.reset()
    return contact


def _cases(arm: UnmodelledArm, length: float) -> Iterator[tuple[str, Case]]:
    rng = np.random.default_rng(22)
    free, going = arm.swinging(length, rng), arm.going(length, rng)
    usual = arm.samples(free, rng)
    yield 'swinging', Case(usual)
    yield 'stops', Case(arm.samples(going, rng))
    yield 'fast', Case(arm.samples(arm.swinging(length, rng, 2.0), rng))
    weaker = {x: 0.7 * getattr(arm, x) for x in ('dry', 'static', 'viscous', 'load', 'ripple')}
    yield 'friction -30 %', Case(replace(arm, **weaker).samples(free, rng))
    loaded = replace(arm, real=arm.real.with_payload(arm.frame, 1.0, np.zeros(3)))
    yield 'payload of 1 kg', Case(loaded.samples(free, rng))
    yield 'outliers', Case(_with_outliers(usual, rng))
    yield 'frozen and zero efforts', Case(_without_efforts(usual))
    yield 'lost and late messages', Case(_late(usual, rng))
    yield 'paused publisher', _paused(usual)
    for words, motion in (('pushes in motion', free), ('pushes with stops', going)):
        yield words, _pushed(arm, motion, rng)


def _with_outliers(samples: JointSamples, rng: np.random.Generator) -> JointSamples:
    """A value of one joint is wrong twice a second, in position, velocity or effort."""
    values = _values(samples)
    for k in range(round(RATE), len(samples), round(0.5 * RATE)):
        which = int(rng.integers(3))
        values[which, k, rng.integers(values.shape[2])] += (0.5, 2.0, 100.0)[which]
    return JointSamples('outliers', samples.joint_names, samples.time, *values)


def _values(samples: JointSamples) -> Array:
    """(3, n, nv) positions, velocities and efforts."""
    assert samples.velocity is not None
    return np.array([samples.position, samples.velocity, samples.effort])


def _without_efforts(samples: JointSamples) -> JointSamples:
    """Efforts stay constant for 2 s, and are zero for 2 s, in each 10 s."""
    effort, t = np.array(samples.effort), samples.time % 10.0
    for k in np.flatnonzero((t >= 4.0) & (t < 6.0)):
        effort[k] = effort[k - 1]
    effort[(t >= 8.0) & (samples.time > 2.0)] = 0.0
    return replace(samples, effort=effort)


def _late(samples: JointSamples, rng: np.random.Generator) -> JointSamples:
    """Stamps of arrival: some messages are lost, and twice a second several come in a burst."""
    stamps = np.array(samples.time)
    for k in range(round(RATE), len(samples) - LATE, round(0.5 * RATE)):
        stamps[k : k + LATE] = stamps[k + LATE - 1] - 5e-5 * np.arange(LATE - 1, -1, -1)
    kept = np.flatnonzero(rng.random(len(samples)) > 0.02)
    values = (getattr(samples, x)[kept] for x in ('position', 'velocity', 'effort'))
    return JointSamples('late', samples.joint_names, stamps[kept], *values)


def _paused(samples: JointSamples) -> Case:
    """Two publishers with half of the joints each; the second one pauses for 40 ms each second."""
    values = _values(samples)
    half, ages = values.shape[2] // 2, np.zeros(values.shape[1:])
    for k in np.flatnonzero((samples.time > 1.0) & (samples.time % 1.0 < 0.04)):
        ages[k, half:] = ages[k - 1, half:] + 1.0 / RATE
        values[:, k, half:] = values[:, k - 1, half:]
    return Case(JointSamples('paused', samples.joint_names, samples.time, *values), ages=ages)


def _pushed(arm: UnmodelledArm, motion: Motion, rng: np.random.Generator) -> Case:
    forces, pushes = np.zeros((len(motion.t), 3)), []
    for begin in np.arange(SETTLED + 0.5, motion.t[-1] - LASTS, EVERY):
        direction = rng.normal(size=3)
        inside = (motion.t >= begin) & (motion.t < begin + LASTS)
        forces[inside] = PUSH * direction / np.linalg.norm(direction)
        pushes.append((float(begin), float(begin + LASTS)))
    J = arm.described.jacobian(motion.q, arm.frame)[:, :3]
    return Case(arm.samples(motion, rng, np.einsum('tij,ti->tj', J, forces)), tuple(pushes))
