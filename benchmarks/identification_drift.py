# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Changes of an arm after its calibration: friction that falls, payloads that nobody has set.

All friction of calibrated arms falls exponentially, as in a warming gear. In other runs friction is
lower from the start, or the arm carries a payload.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.identification_arms import SUITE
from benchmarks.identification_estimates import (
    SETTLED,
    TRAINED,
    calibrated,
    felt,
    pipeline_of,
    told,
)
from benchmarks.records import Goal, Record
from benchmarks.unmodelled_arms import STICKING, UnmodelledArm, named
from dynamics_ros.estimation import ContactPipeline, ContactState
from dynamics_ros.identification import JointSamples

LENGTH, LENGTH_QUICKLY = 900.0, 300.0
"""Duration of a drift [s]; errors are those of the last third."""

DRIFT, WARM = 0.4, 300.0
"""Final relative loss of friction; its time constant [s]."""

LOST, PAYLOAD = 0.3, 1.0
"""Relative loss of friction; mass of a payload that is not set [kg]."""

UNTIL, LATE = 180.0, 120.0
"""Duration of motion after a change, and start of the part in which alarms are counted [s]."""

FRICTION_PARTS = 'dry', 'static', 'viscous', 'load', 'ripple'


def drift(options: argparse.Namespace) -> Iterator[Record]:
    """Records of drifts."""
    for name in named(options.robot):
        yield from _drifting(name, LENGTH_QUICKLY if options.quick else LENGTH)


def _drifting(name: str, length: float) -> Iterator[Record]:
    arm, rng = UnmodelledArm.made(name, STICKING), np.random.default_rng(13)
    usual = calibrated(arm, arm.samples(arm.swinging(TRAINED, rng), rng))
    motion = arm.swinging(length, rng)
    factor = (1.0 - DRIFT * -np.expm1(-motion.t / WARM))[:, np.newaxis]
    warm = replace(arm, **{part: getattr(arm, part) * factor for part in FRICTION_PARTS})
    samples = warm.samples(motion, rng)
    free = np.zeros((len(motion.t), 3))
    found = felt(usual, samples, free)
    late = found.error[2 * len(found.error) // 3 :]
    rms = float(np.sqrt((late**2).sum(axis=1).mean()))
    after = found.normalised[2 * len(found.normalised) // 3 :]
    words = f'friction falls by {100 * DRIFT:.0f} %'
    yield Record(SUITE, f'{words}: force RMS', name, rms, 'N')
    yield Record(SUITE, f'{words}: false alarms', name, found.alarms, '')
    yield Record(SUITE, f'{words}: normalised error', name, float(after.mean()), '')


def changes(options: argparse.Namespace) -> Iterator[Record]:
    """Alarms a minute, and time until the cause is reported, of changes that nobody has set."""
    for name in named(options.robot):
        arm, rng = UnmodelledArm.made(name, STICKING), np.random.default_rng(15)
        usual = calibrated(arm, arm.samples(arm.swinging(TRAINED, rng), rng))
        weaker = {part: getattr(arm, part) * (1.0 - LOST) for part in FRICTION_PARTS}
        loaded = arm.real.with_payload(arm.frame, PAYLOAD, np.zeros(3))
        motions = {'swinging': arm.swinging(UNTIL, rng)}
        if not options.quick:
            motions['going'] = arm.going(UNTIL, rng)
        for moving, motion in motions.items():
            for what, changed in (
                ('as calibrated', arm),
                (f'friction -{100 * LOST:.0f} %', replace(arm, **weaker)),
                (f'payload of {PAYLOAD:g} kg', replace(arm, real=loaded)),
            ):
                samples = changed.samples(motion, np.random.default_rng(16))
                pipeline = pipeline_of(usual.robot, arm.frame, usual.values)
                yield from _changed(f'{what}, {moving}', name, pipeline, samples)


def _changed(
    case: str, name: str, pipeline: ContactPipeline, samples: JointSamples
) -> Iterator[Record]:
    contact, degraded = (np.zeros(len(samples), dtype=bool) for _ in range(2))
    reported = np.nan
    for k, (_, external) in enumerate(told(pipeline, samples)):
        contact[k] = external is not None and external.report.state is not ContactState.NONE
        degraded[k] = bool(pipeline.uncertain_frames)
        if pipeline.residuals.advice and np.isnan(reported):
            reported = samples.time[k]
    begins = np.append(contact[0], np.diff(contact.astype(int)) > 0)
    late = samples.time >= LATE
    minutes = (UNTIL - LATE) / 60.0
    before = (LATE - SETTLED) / 60.0
    early = ~late & (samples.time >= SETTLED)
    limit = Goal(2.0, of='value')
    yield Record(SUITE, f'{case}: alarms before', name, begins[early].sum() / before, '1/min')
    alarms = begins[late].sum() / minutes
    yield Record(SUITE, f'{case}: alarms after', name, alarms, '1/min', goal=limit)
    for words, share in (('in contact', contact), ('distrusted', degraded)):
        yield Record(SUITE, f'{case}: {words}', name, 100.0 * float(share[late].mean()), '%')
    yield Record(SUITE, f'{case}: cause reported after', name, reported, 's')
