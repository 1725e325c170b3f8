# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts in another unit are recognized, and another mounting; other arms are accepted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import ROBOT, Truth, efforts, motion, recording, truth

from benchmarks.unmodelled_arms import STICKING, UnmodelledArm
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.effort_scale import effort_shares
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


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('off', [0.2, 0.5])
def test_nothing_is_said_of_arms_whose_masses_are_other_than_described(seed, off):
    assert said(recording(truth(seed, off), duration=30.0, rate=100.0, seed=seed)) == ''


@pytest.mark.parametrize('mass', [1.0, 3.0])
def test_a_tool_that_is_not_described_is_neither_another_unit_nor_another_sign(mass):
    robot = ARM.robot.with_payload('tool0', mass, (0.03, -0.02, 0.08), 0.003 * mass * np.eye(3))
    samples = recording(Truth(robot, ARM.bodies, ARM.scale), duration=30.0, rate=100.0)
    assert said(samples) == ''
    found = identify(ROBOT, [samples])
    assert found.effort_model.scale.tolist() == [1.0] * 7
    assert found.train.percent_all < 1.5


def test_large_rotors_are_no_other_clock():
    t = np.arange(0.0, 30.0, 0.01)
    q, v, a = motion(t)
    effort = efforts(ARM, q, v, a) + 5.0 * a
    effort += 0.1 * np.random.default_rng(0).normal(size=q.shape)
    assert said(JointSamples('geared', NAMES, t, q, v, effort)) == ''


@pytest.mark.parametrize(('factor', 'words'), [(100.0, 'percent'), (1.0, 'shares')])
def test_efforts_in_percent_of_their_limits_are_told_and_converted(samples, factor, words):
    shares = replace(samples, effort=factor * samples.effort / ROBOT.effort_limits)
    found = identify(ROBOT, [shares])
    assert found.effort_model.scale == pytest.approx(ROBOT.effort_limits / factor)
    told = [one for one in found.findings if f'efforts seem to be {words} of the effort' in one]
    assert len(told) == 1
    assert 'masses' not in told[0]
    assert found.train.percent_all < 1.5


def test_shares_of_other_limits_are_told_with_what_masses_say_of_them(samples):
    shares = replace(samples, effort=100.0 * samples.effort / (2.0 * ROBOT.effort_limits))
    told = ' '.join(identify(ROBOT, [shares]).findings)
    assert 'efforts seem to be percent' in told
    factor = float(told.partition('limits are about ')[2].split()[0])
    assert factor == pytest.approx(2.0, abs=0.3)


def test_where_limits_are_alike_or_missing_efforts_are_no_shares_of_them():
    for limit in (np.inf, 0.0, 50.0):
        robot = ROBOT.__class__(ROBOT.model)
        object.__setattr__(robot, 'effort_limits', np.full(7, limit))
        assert effort_shares(robot) == ()
    words = [shares.words for shares in effort_shares(ROBOT)]
    assert words == ['percent', 'shares']


@pytest.mark.parametrize('held', [False, True])
def test_missing_gravity_is_named_where_other_masses_hide_it(held):
    t = 0.01 * np.arange(1600)
    q, v, a = motion(t, 0, speed=2.0)
    effort = efforts(ARM, q, v, a) - ARM.robot.gravity(q)
    samples = JointSamples('bare', tuple(NAMES), t, q, v, effort)
    with pytest.raises(DynamicsRosError, match=r'effort\.includes_gravity false'):
        check_mounting(ROBOT, regular_stretches(samples), np.ones(7), held)


def test_friction_of_an_arm_whose_masses_are_exact_is_not_taken_for_other_masses():
    arm, rng = UnmodelledArm.made('xarm7', STICKING), np.random.default_rng(1)
    own = arm.samples(arm.going(25.0, rng), rng)
    assert not check_mounting(arm.described, regular_stretches(own), np.ones(arm.described.nv))
