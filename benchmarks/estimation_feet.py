# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Foot contacts of ANYmal in MuJoCo, standing and trotting in place: forces and contact states."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.estimation_arms import NOISE, NONE, Noise
from benchmarks.records import Goal, Record
from benchmarks.trotting import FEET, Quadruped
from dynamics_ros.estimation import FootContactEstimator, MomentumObserver

Array = NDArray[np.float64]

GAIN = {NONE: 500.0, NOISE: 200.0}
"""Gain of the observer [1/s]: touch-down is detected within 2 ms; noise grows with the gain."""

EFFORT_NOISE = {NONE: 0.05, NOISE: 2.0}
"""Noise of an external torque at that gain [Nm], mostly due to the noise of the base velocity."""

TOUCHES = 1.0
"""True vertical force from which a foot is in contact [N]."""

BEGIN = 0.2
"""Settling time that is excluded [s]."""


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Records of the feet."""
    if options.robot not in 'anymal':
        return
    quadruped = Quadruped()
    for noise, words in ((NONE, 'without noise'), (NOISE, 'with noise')):
        for trot in (False, True):
            duration = 6.0 if trot and not options.quick else 1.5
            truth, felt, held, right = _estimated_forces(quadruped, noise, trot, duration)
            case = f'{"trot" if trot else "standing"}, {words}'
            if not trot:
                for source, forces in (('observer', felt), ('constraints', held)):
                    off = 100.0 * np.abs(forces - truth).max() / truth.mean()
                    goal = Goal(2.0, of='value') if noise is NONE else None
                    what = f'vertical force off, {source}, worst'
                    yield _record(f'feet {case}: {what}', off, '%', goal)
            else:
                rms = float(np.sqrt(np.mean((felt - truth) ** 2)))
                yield _record(f'feet {case}: vertical force RMS', rms, 'N')
            share = 100.0 * float(right.mean())
            goal = Goal(99.0, of='value', at_least=True) if noise is NONE else None
            yield _record(f'feet {case}: contact state right', share, '%', goal)


def _estimated_forces(
    quadruped: Quadruped, noise: Noise, trot: bool, duration: float
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """True vertical forces, those of observer and constraints (n, 4 each), and right states."""
    robot = quadruped.robot
    rng = np.random.default_rng(6)
    observer = MomentumObserver(robot, GAIN[noise], effort_sampling='interval')
    estimator = FootContactEstimator(robot, FEET, effort_noise=EFFORT_NOISE[noise])
    rows = []
    for step in quadruped.run(duration, trot=trot):
        q, v, effort = step.q.copy(), step.v.copy(), step.effort.copy()
        q[7:] += noise.position * rng.normal(size=12)
        v += noise.velocity * rng.normal(size=robot.nv)
        effort[6:] += noise.effort * rng.normal(size=12)
        external = observer.update(step.stamp, q, v, effort)
        contacts = estimator.update(q, v, external, tau=effort)
        held = contacts.constraint_forces
        vertical = step.forces[:, 2]
        right = contacts.in_contact == (vertical > TOUCHES)
        rows.append((vertical, contacts.forces[:, 2], held[:, 2], right))
    late = rows[round(BEGIN * 1e3) :]
    truth, felt, held, right = (np.array(column) for column in zip(*late, strict=True))
    return truth, felt, held, right


def _record(case: str, value: float, unit: str, goal: Goal | None = None) -> Record:
    return Record('estimation', case, 'anymal', value, unit, goal=goal)
