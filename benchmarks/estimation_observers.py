# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Noise and delay of the observer, for velocity noise as configured and otherwise."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from benchmarks.records import Record
from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.estimation import MomentumObserver

FACTORS = (0.2, 1.0, 5.0)

VELOCITY_NOISE, EFFORT_NOISE, PERIOD = 1e-3, 0.05, 2e-3
"""Configured noise of velocities [rad/s] and efforts [Nm]; sampling period [s]."""

POSTURE = np.array([0.3, -1.2, 1.4, -0.5, 0.8, 0.2])
PUSH, JOINT = 5.0, 1
"""Push at the shoulder, which carries most [Nm]; index of its joint."""

BEFORE, AFTER = 5000, 250
"""Number of samples before the pushes, of which the later half is evaluated; samples per half cycle
of a push."""

PUSHES = 20


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Records of the observer."""
    if options.robot not in 'ur5':
        return
    robot = Robot.from_urdf(urdf_path('ur5'))
    gravity = robot.gravity(POSTURE)
    for factor in FACTORS:
        rng = np.random.default_rng(0)
        observer, count = MomentumObserver(robot), BEFORE + PUSHES * 2 * AFTER
        torque = np.zeros(count)
        for k in range(count):
            push = PUSH * (k >= BEFORE and (k - BEFORE) // AFTER % 2 == 0)
            v = factor * VELOCITY_NOISE * rng.normal(size=robot.nv)
            effort = gravity + EFFORT_NOISE * rng.normal(size=robot.nv)
            effort[JOINT] -= push
            torque[k] = observer.update(round(k * PERIOD * 1e9), POSTURE, v, effort)[JOINT]
        pushed = torque[BEFORE:].reshape(PUSHES, 2, AFTER)[:, 0].mean(axis=0)
        delay = 1e3 * PERIOD * float((1.0 - pushed / PUSH).sum())
        words = f'momentum, velocity noise {factor:g} of stated'
        scatter = float(torque[BEFORE // 2 : BEFORE].std())
        yield Record('estimation', f'{words}: scatter', 'ur5', scatter, 'Nm')
        yield Record('estimation', f'{words}: delay', 'ur5', delay, 'ms')
