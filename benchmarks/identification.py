# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Suite `identification`: real recordings, simulated arms, planned motions.

Each part is a function of the options that yields records; `PARTS` lists the parts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import (
    identification_ablation,
    identification_drift,
    identification_estimates,
    identification_planned,
    identification_recordings,
)
from benchmarks.identification_arms import SUITE, figure, simulated
from benchmarks.identification_simulated import chosen, cost, coverage, payload, stops
from benchmarks.records import Goal, Record
from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.identification.excitation.fourier import condition_number, plan_excitation

DURATION, RATE = 20.0, 20.0
"""Duration of a planned motion [s]; sampling rate for condition numbers [Hz]."""

RANDOM = 100


def excitation(options: argparse.Namespace) -> Iterator[Record]:
    """Condition number of the base regressor over a planned motion, and over random motions."""
    for name in chosen(options):
        arm, rng = simulated(name, 0), np.random.default_rng(1)
        robot, joints = arm.described, np.arange(arm.described.nv)
        base = BaseParameters.of(robot)
        t = np.linspace(0.0, DURATION, round(DURATION * RATE))
        usual = [
            condition_number(robot, base, *arm.motion(t, rng, joints, 1.0))
            for _ in range(10 if options.quick else RANDOM)
        ]
        begin = time.perf_counter()
        planned = plan_excitation(robot, duration=DURATION)
        seconds = time.perf_counter() - begin
        median = float(np.median(usual))
        yield Record(
            SUITE,
            *('condition number of a plan', name, planned.condition, ''),
            *('random', median, Goal(1.0 / 3.0)),
        )
        yield figure('planning', name, seconds, 's')


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Record]]] = {
    'recordings': identification_recordings.run,
    'ablation': identification_ablation.ablation,
    'stops': stops,
    'payload': payload,
    'excitation': excitation,
    'coverage': coverage,
    'estimates': identification_estimates.run,
    'planned': identification_planned.planned,
    'drift': identification_drift.drift,
    'untold': identification_drift.changes,
    'cost': cost,
}


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Run the selected parts."""
    for name, part in PARTS.items():
        if not options.part or name in options.part:
            yield from part(options)
