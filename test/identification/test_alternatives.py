# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are read wrongly are told by what explains them, and others are let through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import ROBOT, Truth, efforts, motion, recording, truth

from benchmarks.unmodelled_arms import STICKING, UnmodelledArm
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.identification import JointSamples, identify
from dynamics_ros.identification.alternatives.alternatives import check_reading
from dynamics_ros.identification.alternatives.effort_shares import effort_shares
from dynamics_ros.identification.alternatives.nearest import nearest
from dynamics_ros.identification.joint_states.clock import regular_stretches

ARM = truth(1)
NAMES = ROBOT.joint_names


@pytest.fixture(scope='module')
def samples():
    return recording(ARM, duration=30.0, rate=100.0)


def said(samples):
    """What is said of a recording: by an error, or by a sentence."""
    try:
        return ' '.join(check_reading(ROBOT, regular_stretches(samples)))
    except DynamicsRosError as error:
        return str(error)


def swapped(samples, what):
    order = [0, 2, 1, 3, 4, 5, 6]
    return replace(samples, **{name: getattr(samples, name)[:, order] for name in what})


def turned(samples, joint):
    signs = np.ones(7)
    signs[joint] = -1.0
    return replace(samples, position=signs * samples.position, velocity=signs * samples.velocity)


def other_zero(samples, joint, offset):
    position = samples.position.copy()
    position[:, joint] += offset
    return replace(samples, position=position)


def other_unit(samples, joint, factor):
    effort = samples.effort.copy()
    effort[:, joint] *= factor
    return replace(samples, effort=effort)


def slower(samples, factor):
    return replace(samples, time=factor * samples.time, velocity=None)


def without_motion(samples):
    return replace(samples, effort=ARM.robot.gravity(samples.position))


ALL = ('position', 'velocity', 'effort')


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda one: swapped(one, ALL), f'{NAMES[1]} and {NAMES[2]} seem to be swapped'),
        (lambda one: swapped(one, ALL[2:]), f'efforts of {NAMES[1]} and {NAMES[2]} seem to be'),
        (lambda one: turned(one, 3), f'positions of {NAMES[3]} seem to count the other way'),
        (lambda one: other_zero(one, 1, 0.5 * np.pi), f'{NAMES[1]} seems to have another zero'),
        (lambda one: other_unit(one, 3, 0.02), f'efforts of {NAMES[3]} seem to be in another unit'),
        (lambda one: slower(one, 2.0), '2 times as fast as the stamps say'),
        (lambda one: slower(one, 10.0), '10 times as fast as the stamps say'),
        (lambda one: slower(one, 0.5), '0.5 times as fast as the stamps say'),
        (without_motion, 'nothing of the motion'),
        (lambda one: replace(one, position=np.degrees(one.position)), 'in degrees'),
    ],
)
def test_the_mistake_is_named(samples, change, words):
    assert words in said(change(samples))


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
    assert said(shares) == ''
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


def test_signs_are_those_of_the_smallest_misfit():
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(3, 40, 4)), rng.normal(size=4)
    signs = np.array([1.0, -1.0, -1.0])
    y = signs[:, np.newaxis] * (A @ x)
    H = np.einsum('jni,jnk->ik', A, A)
    G = np.einsum('jni,jn->ji', A, y)
    found = nearest(H, G, float((y**2).sum()), 1e-6 * np.eye(4), x, np.zeros((3, 4)))
    assert found.signs.tolist() == signs.tolist()
    assert found.x == pytest.approx(x, abs=1e-5)
    assert found.misfit < 1e-3


@pytest.mark.parametrize('held', [False, True])
def test_missing_gravity_is_named_where_other_masses_hide_it(held):
    t = 0.01 * np.arange(1600)
    q, v, a = motion(t, 0, speed=2.0)
    effort = efforts(ARM, q, v, a) - ARM.robot.gravity(q)
    samples = JointSamples('bare', tuple(NAMES), t, q, v, effort)
    with pytest.raises(DynamicsRosError, match=r'effort\.includes_gravity false'):
        check_reading(ROBOT, regular_stretches(samples), held)


def test_friction_of_an_arm_whose_masses_are_exact_is_not_taken_for_other_masses():
    arm, rng = UnmodelledArm.made('xarm7', STICKING), np.random.default_rng(1)
    own = arm.samples(arm.going(25.0, rng), rng)
    assert not check_reading(arm.described, regular_stretches(own))
