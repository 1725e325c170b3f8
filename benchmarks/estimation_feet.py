# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""ANYmal in MuJoCo: foot contacts and forces, and the base from an IMU and the feet."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from benchmarks.estimation_arms import NOISE, NONE, Noise
from benchmarks.records import Goal, Record
from benchmarks.trotting import FEET, FOOT_RADIUS, PERIOD, Quadruped
from dynamics_ros.estimation import FootContactEstimator, MomentumObserver
from dynamics_ros.estimation.base_estimator import BaseEstimator, LoadedFeet

Array = NDArray[np.float64]

GAIN = {NONE: 500.0, NOISE: 200.0}
"""Gain of the observer [1/s]: touch-down is detected within 2 ms; noise grows with the gain."""

EFFORT_NOISE = {NONE: 0.05, NOISE: 2.0}
"""Noise of an external torque at that gain [Nm], mostly due to the noise of the base velocity."""

TOUCHES = 1.0
"""True vertical force from which a foot is in contact [N]."""

BEGIN = 0.2
"""Settling time that is excluded [s]."""

DRIFT, SPEED_ERROR = Goal(2.0, of='value'), Goal(5.0, of='value')
"""Goals of the base: drift [% of the way], and 99th percentile of the velocity's error [cm/s]."""

WALKING = 0.3
"""Speed of the walk [m/s]."""

GYROSCOPE, ACCELEROMETER = 1e-3, 1e-2
"""Noise densities of the IMU [rad/s/sqrt(Hz), m/s^2/sqrt(Hz)]."""

BIASES = np.array([[0.01, -0.01, 0.02], [0.1, -0.1, 0.05]])
"""Of gyroscope and accelerometer [rad/s, m/s^2]."""

ENCODER = 2e-4
"""Noise of joint positions [rad]."""


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
    yield from _base(Quadruped(walks=True), 10.0 if options.quick else 20.0)


def _base(quadruped: Quadruped, duration: float) -> Iterator[Record]:
    """Drift, velocity and time of a walk, whose contacts come from the estimated base."""
    robot, rng = quadruped.robot, np.random.default_rng(7)
    feet = LoadedFeet(robot, FEET)
    base = BaseEstimator(robot, FEET, 'base', foot_radius=FOOT_RADIUS)
    shaken = np.array([GYROSCOPE, ACCELEROMETER])[:, None] / np.sqrt(PERIOD)
    standing, estimate, rows, times = np.ones(len(FEET), dtype=bool), None, [], []
    for step in quadruped.run(duration, trot=True, speed=WALKING):
        q, v, effort = step.q.copy(), step.v.copy(), step.effort.copy()
        q[7:] += ENCODER * rng.normal(size=12)
        v[6:] += NOISE.velocity * rng.normal(size=12)
        effort[6:] += NOISE.effort * rng.normal(size=12)
        felt = np.array([step.v[3:6], step.specific_force]) + BIASES
        felt += shaken * rng.normal(size=(2, 3))
        if estimate is not None:
            carrying = feet.update(step.stamp, estimate, q, v, effort)
            standing = standing if carrying is None else carrying
        began = time.perf_counter()
        base.add_imu(step.stamp, *felt)
        estimate = base.update(step.stamp, q, standing)
        times.append(time.perf_counter() - began)
        if estimate is not None:
            rows.append((step.q[:7], step.v[:6], estimate.q, estimate.v))
    true_q, true_v, found_q, found_v = (np.array(column) for column in zip(*rows, strict=True))
    yaws = [Rotation.from_quat(q[0, 3:]).as_euler('ZYX')[0] for q in (true_q, found_q)]
    align = Rotation.from_euler('z', yaws[0] - yaws[1])
    way = true_q[-1, :3] - true_q[0, :3]
    drift = np.linalg.norm(align.apply(found_q[-1, :3] - found_q[0, :3]) - way)
    late = len(rows) // 4
    off = np.linalg.norm(found_v[late:, :3] - true_v[late:, :3], axis=1)
    yield _record('base: way', float(np.linalg.norm(way)), 'm')
    yield _record('base: drift', 100.0 * float(drift / np.linalg.norm(way)), '%', DRIFT)
    yield _record(
        'base: velocity off, p99', 1e2 * float(np.percentile(off, 99)), 'cm/s', SPEED_ERROR
    )
    yield _record('base: a sample of IMU and joints', 1e6 * float(np.median(times)), 'us')


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
