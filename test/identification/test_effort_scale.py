# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts in another unit are recognized, and another mounting; other arms are accepted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import ROBOT, Truth, efforts, motion, recording, truth

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.mounting import check_mounting

ARM = truth(1)
NAMES = ROBOT.joint_names


@pytest.fixture(scope='module')
def samples():
    return recording(ARM, duration=30.0, rate=100.0)


def said(samples):
    """What is said of a recording: by an error, or by a sentence."""
    try:
        return ' '.join(check_mounting(ROBOT, regular_stretches(samples), np.ones(7)))
    except DynamicsRosError as error:
        return str(error)


@pytest.mark.parametrize('degrees', [10.0, 30.0, 60.0])
def test_a_base_that_leans_is_told_by_direction(samples, degrees):
    angle = np.radians(degrees)
    gravity = 9.81 * np.array([0.8 * np.sin(angle), 0.6 * np.sin(angle), -np.cos(angle)])
    difference = ARM.robot.with_gravity(tuple(gravity)).gravity(samples.position)
    difference = difference - ARM.robot.gravity(samples.position)
    sentence = said(replace(samples, effort=samples.effort + difference))
    told = [float(x) for x in sentence.partition('--gravity ')[2].partition(')')[0].split()]
    assert told == pytest.approx(gravity, abs=0.3)


@pytest.mark.parametrize('mass', [1.0, 3.0])
def test_a_tool_that_is_not_described_is_neither_another_unit_nor_another_sign(mass):
    robot = ARM.robot.with_payload('tool0', mass, (0.03, -0.02, 0.08), 0.003 * mass * np.eye(3))
    samples = recording(Truth(robot, ARM.bodies, ARM.scale), duration=30.0, rate=100.0)
    assert said(samples) == ''
    found = identify(ROBOT, [samples])
    assert found.effort_model.scale.tolist() == [1.0] * 7
    assert found.train.percent_all < 1.5


@pytest.mark.parametrize(('factor', 'words'), [(100.0, 'percent'), (1.0, 'shares')])
def test_efforts_in_percent_of_their_limits_are_told_and_converted(samples, factor, words):
    shares = replace(samples, effort=factor * samples.effort / ROBOT.effort_limits)
    found = identify(ROBOT, [shares])
    assert found.effort_model.scale == pytest.approx(ROBOT.effort_limits / factor)
    told = [one for one in found.findings if f'efforts seem to be {words} of the effort' in one]
    assert len(told) == 1
    assert 'masses' not in told[0]
    assert found.train.percent_all < 1.5


@pytest.mark.parametrize('held', [False, True])
def test_missing_gravity_is_named_where_other_masses_hide_it(held):
    t = 0.01 * np.arange(1600)
    q, v, a = motion(t, 0, speed=2.0)
    effort = efforts(ARM, q, v, a) - ARM.robot.gravity(q)
    samples = JointSamples('bare', tuple(NAMES), t, q, v, effort)
    with pytest.raises(DynamicsRosError, match=r'effort\.includes_gravity false'):
        check_mounting(ROBOT, regular_stretches(samples), np.ones(7), held)
