# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Payload identification: 1 kg at 5 cm from the tool frame, from a motion or five postures.

MuJoCo simulates the loaded arm; the identifier has the model of the arm alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.estimation_arms import CENTRES, NOISE, NONE, Noise, Setting
from benchmarks.estimation_world import Faults, Motion, PushedArm, Sample
from benchmarks.records import Goal, Record
from benchmarks.robots import Subject
from dynamics_ros.estimation import PayloadEstimate, PayloadIdentifier

Array = NDArray[np.float64]

MASS = 1.0
CENTER = np.array([0.03, 0.02, np.sqrt(0.05**2 - 0.03**2 - 0.02**2)])
INERTIA = np.diag([0.002, 0.003, 0.0015])
"""Inertia about the centre of mass [kg m^2]."""

GOALS = {NONE: (1.0, 2.0), NOISE: (3.0, 5.0)}
"""Goals of the errors of mass [%] and centre of mass [mm]."""

POSTURES, REST = 5, 1.0
"""Number of postures, and duration of each [s]."""


class _LoadedArm(PushedArm):
    """A simulated arm with a payload, which its controller compensates."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject, Faults())
        self.bare = self.robot
        self.robot = self.bare.with_payload(self.frame, MASS, CENTER, INERTIA)
        model, body = self.model, self.body
        R = np.zeros(9)
        mujoco.mju_quat2Mat(R, model.body_iquat[body])
        R = R.reshape(3, 3)
        own, center = model.body_mass[body], model.body_ipos[body].copy()
        total = own + MASS
        common = (own * center + MASS * CENTER) / total
        inertia = R @ np.diag(model.body_inertia[body]) @ R.T + INERTIA
        for mass, offset in ((own, center - common), (MASS, CENTER - common)):
            inertia = inertia + mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, axes.ravel())
        model.body_mass[body], model.body_ipos[body] = total, common
        model.body_inertia[body], model.body_iquat[body] = moments, quaternion
        mujoco.mj_setConst(model, self.data)


def run(options: argparse.Namespace) -> Iterator[Record]:
    """Records of the payload."""
    for name in CENTRES:
        if options.robot not in name:
            continue
        setting = Setting(name)
        arm = _LoadedArm(setting.subject)
        rng, duration = np.random.default_rng(5), 3.0 if options.quick else 10.0
        for noise, words in ((NONE, 'without noise'), (NOISE, 'with noise')):
            found = _over_motion(arm, setting, duration, noise, rng)
            yield from _records(name, f'motion, {words}', found, noise)
            yield from _records(name, f'postures, {words}', _over_postures(arm, noise, rng), noise)


def _over_motion(
    arm: _LoadedArm, setting: Setting, duration: float, noise: Noise, rng: np.random.Generator
) -> PayloadEstimate:
    identifier = _identifier(arm)
    for sample in arm.run(duration, setting.fast, lambda _: np.zeros(3)):
        _add(identifier, sample, 0, noise, rng)
    return identifier.estimate()


def _over_postures(arm: _LoadedArm, noise: Noise, rng: np.random.Generator) -> PayloadEstimate:
    identifier = _identifier(arm)
    size = arm.bare.nv
    low, high = np.maximum(arm.bare.lower_limits, -3.0), np.minimum(arm.bare.upper_limits, 3.0)
    for k in range(POSTURES):
        still = Motion(rng.uniform(low, high), np.zeros(size), np.ones(size))
        for sample in arm.run(REST, still, lambda _: np.zeros(3)):
            _add(identifier, sample, k * 10**10, noise, rng)
    return identifier.estimate()


def _identifier(arm: _LoadedArm) -> PayloadIdentifier:
    return PayloadIdentifier(arm.bare, arm.frame, effort_sampling='interval')


def _add(
    identifier: PayloadIdentifier,
    sample: Sample,
    later: int,
    noise: Noise,
    rng: np.random.Generator,
) -> None:
    identifier.add(sample.stamp + later, *noise.of(sample, rng))


def _records(name: str, case: str, found: PayloadEstimate, noise: Noise) -> Iterator[Record]:
    mass_goal, center_goal = GOALS[noise]
    off = 1e3 * float(np.linalg.norm(found.center_of_mass - CENTER))
    values = (
        ('mass off', 100.0 * abs(found.mass / MASS - 1.0), '%', Goal(mass_goal, of='value')),
        ('mass, stated deviation', 100.0 * found.mass_deviation / MASS, '%', None),
        ('centre of mass off', off, 'mm', Goal(center_goal, of='value')),
        ('inertia entries told', float(found.inertia_observable.sum()), 'of 9', None),
    )
    for what, value, unit, goal in values:
        yield Record('estimation', f'payload, {case}: {what}', name, value, unit, goal=goal)
