# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joints that stop are held by friction of unknown size, which is not learned as weight."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, OFFSET, ROBOT, ROTOR, SMOOTH, VISCOUS, recording, truth

from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.bodies.base_parameters import BaseParameters, with_rotors

ARM = truth(1)
RATE, NOISE = 200.0, 0.1


def stopping(arm=ARM, duration=60.0, seed=0):
    """From posture to posture with rests, in which joints are held by any dry friction there is."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 1.0 / RATE)
    q, v, a, held = np.zeros((4, len(t), 7))
    rest = np.zeros(len(t), dtype=bool)
    here, begin = np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0]), 0.0
    while begin < duration:
        there = np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0]) + rng.uniform(-0.8, 0.8, 7)
        move, end = rng.uniform(1.0, 2.0), rng.uniform(1.0, 3.0)
        inside = (t >= begin) & (t < begin + move + end)
        x = np.minimum((t[inside] - begin) / move, 1.0)[:, np.newaxis]
        q[inside] = here + (there - here) * x**3 * (10.0 + x * (6.0 * x - 15.0))
        v[inside] = (there - here) * 30.0 * x**2 * (1.0 - x) ** 2 / move
        a[inside] = (there - here) * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / move**2
        still = inside & (t >= begin + move)
        # Brakes let a joint sag: friction carries, mostly, what gravity asks for.
        held[still] = 0.6 * COULOMB + 0.4 * COULOMB * rng.uniform(-1.0, 1.0, 7)
        rest |= still
        here, begin = there, begin + move + end
    torque = arm.robot.inverse_dynamics(q, v, a) + ROTOR * a
    effort = torque + VISCOUS * v + COULOMB * np.tanh(v / SMOOTH) + OFFSET + held
    effort += NOISE * rng.normal(size=q.shape)
    q = q + 2e-5 * rng.normal(size=q.shape)
    return JointSamples('stops', ROBOT.joint_names, t, q, None, effort), rest


@pytest.fixture(scope='module')
def samples():
    return stopping()[0]


@pytest.fixture(scope='module')
def found(samples):
    return identify(ROBOT, [samples])


def gravity_off(identified):
    """RMS of the error of weights and offsets in other postures [Nm]."""
    base = BaseParameters.of(ROBOT)
    true = np.concatenate([ARM.bodies.ravel(), ROTOR])
    rng, zero = np.random.default_rng(5), np.zeros((40, 7))
    q = np.array([0.0, 0.4, 0.0, 1.2, 0.0, 0.6, 0.0]) + rng.uniform(-0.8, 0.8, zero.shape)
    off = identified.fit.x[: len(true)] - true
    Y = with_rotors(ROBOT.regressor(q, zero, zero), zero)
    torque = Y[..., base.chosen] @ (base.combination @ off)
    return float(np.sqrt(((torque + identified.fit.friction[:, 1] - OFFSET) ** 2).mean()))


def test_friction_and_weights_are_those_of_motion(samples, found):
    assert gravity_off(found) < 0.1, 'friction holds with 0.4 to 3 Nm, on one side'
    assert found.effort_model.coulomb == pytest.approx(COULOMB, abs=0.15)
    assert found.effort_model.viscous == pytest.approx(VISCOUS, abs=0.15)
    tested = found.evaluate(recording(ARM, seed=5))
    assert tested.percent_all < 0.5


def test_stops_are_seen_and_no_pushes(samples, found):
    rest = stopping()[1].mean()
    assert found.train.standing.mean() == pytest.approx(rest, abs=0.1)
    assert found.train.percent_moving < 0.5 * found.train.percent_all
    assert not any('push' in sentence for sentence in found.findings)
    (told,) = [one for one in found.findings if 'stand still' in one]
    assert f'{ROBOT.joint_names[0]} ' in told


def test_a_push_at_rest_that_friction_cannot_hold_is_told(samples):
    _, rest = stopping()
    effort = samples.effort.copy()
    first = np.flatnonzero(rest & (samples.time > 20.0))[0]
    push = slice(first + 20, first + 180)
    effort[push] += 30.0
    result = identify(ROBOT, [replace(samples, effort=effort)])
    (sentence,) = [one for one in result.findings if 'push' in one]
    begin = samples.time[push.start]
    assert any(f'{begin + k:.0f}.' in sentence for k in (-1, 0, 1)), sentence
