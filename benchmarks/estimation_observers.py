# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scatter and delay of each kind of observer, for velocities as noisy as stated, and otherwise."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from benchmarks.records import Record
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.estimation import OBSERVERS

KINDS = ('momentum', 'momentum_second_order', 'kalman')
FACTORS = (0.2, 1.0, 5.0)

VELOCITY_NOISE, EFFORT_NOISE, PERIOD = 1e-3, 0.05, 2e-3
"""rad/s and Nm that are stated; s."""

POSTURE = np.array([0.3, -1.2, 1.4, -0.5, 0.8, 0.2])
PUSH, JOINT = 5.0, 1
"""Nm on the shoulder, that carries most."""

BEFORE, AFTER = 5000, 250
"""Samples, of which the later half counts; samples."""

PUSHES = 20


def run(options: argparse.Namespace) -> Iterator[Record]:
    """All rows."""
    if options.robot not in 'ur5':
        return
    robot = Robot.from_urdf(urdf_path('ur5'))
    gravity = robot.gravity(POSTURE)
    for factor in FACTORS:
        for kind in KINDS:
            rng = np.random.default_rng(0)
            observer, count = OBSERVERS[kind](robot), BEFORE + PUSHES * 2 * AFTER
            torque = np.zeros(count)
            for k in range(count):
                push = PUSH * (k >= BEFORE and (k - BEFORE) // AFTER % 2 == 0)
                v = factor * VELOCITY_NOISE * rng.normal(size=robot.nv)
                effort = gravity + EFFORT_NOISE * rng.normal(size=robot.nv)
                effort[JOINT] -= push
                torque[k] = observer.update(round(k * PERIOD * 1e9), POSTURE, v, effort)[JOINT]
            pushed = torque[BEFORE:].reshape(PUSHES, 2, AFTER)[:, 0].mean(axis=0)
            delay = 1e3 * PERIOD * float((1.0 - pushed / PUSH).sum())
            words = f'{kind}, velocity noise {factor:g} of stated'
            scatter = float(torque[BEFORE // 2 : BEFORE].std())
            yield Record('estimation', f'{words}: scatter', 'ur5', scatter, 'Nm')
            yield Record('estimation', f'{words}: delay', 'ur5', delay, 'ms')
