# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are not of the robot as described, or whose units and stamps are wrong."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from few_joint_arms import few_joint_arm
from simulated_arm import COULOMB, FILE, OFFSET, ROBOT, ROTOR, VISCOUS, motion, recording, truth

from dynamics_ros import Robot
from dynamics_ros.estimation import EffortModel
from dynamics_ros.estimation.uncertainty.thresholds import motion_scales
from dynamics_ros.identification import (
    JointSamples,
    NotThisRobotError,
    UnusableRecordingError,
    for_robot,
    identify,
)
from dynamics_ros.identification.joint_states.clock import regular_stretches
from dynamics_ros.identification.joint_states.plausibility import cut_off_at
from dynamics_ros.identification.uncertainty import identify_drives

ARM = truth(1)
NAMES = ROBOT.joint_names


@pytest.fixture(scope='module')
def samples():
    return recording(ARM, duration=30.0, rate=100.0)


@pytest.fixture(scope='module')
def other():
    return recording(ARM, duration=10.0, rate=100.0, seed=5)


def under(gravity, samples):
    """The recording of the same arm under another gravity."""
    real = ARM.robot.with_gravity(gravity)
    difference = real.gravity(samples.position) - ARM.robot.gravity(samples.position)
    return replace(samples, effort=samples.effort + difference)


@pytest.mark.parametrize('gravity', [(9.81, 0.0, 0.0), (0.0, 0.0, 9.81), (0.0, 6.9, -6.9)])
def test_another_mounting_is_told_with_the_gravity_that_explains_it(samples, gravity):
    wrong = under(gravity, samples)
    with pytest.raises(NotThisRobotError, match='mounted otherwise') as error:
        identify(ROBOT, [wrong])
    told = [float(x) for x in str(error.value).partition('--gravity ')[2].partition(')')[0].split()]
    assert told == pytest.approx(gravity, abs=1.0)
    right = identify(Robot.from_urdf(FILE, gravity=gravity), [wrong])
    assert right.train.percent_all < 1.0


def test_efforts_without_gravity_are_told(samples):
    weightless = under((0.0, 0.0, 0.0), samples)
    with pytest.raises(UnusableRecordingError, match='no gravity torques'):
        identify(ROBOT, [weightless])


def test_angles_that_jump_by_whole_turns_are_the_same(samples, other):
    position = samples.position.copy()
    position[:, 0] = (position[:, 0] + 3.0 + np.pi) % (2.0 * np.pi) - np.pi
    assert np.abs(np.diff(position[:, 0])).max() > 6.0
    own, sentence = for_robot(replace(samples, position=position), ROBOT)
    assert f'positions of {NAMES[0]} jump by whole turns' in sentence
    assert identify(ROBOT, [own]).evaluate(other).percent_all < 1.0


@pytest.mark.parametrize('factor', [np.degrees(1.0), 0.0, -1.0])
def test_velocities_that_are_none_are_left_out_and_told(samples, factor):
    velocity = samples.velocity.copy()
    velocity[:, 3] *= factor
    wrong = replace(samples, velocity=velocity)
    own, sentence = for_robot(wrong, ROBOT)
    assert own.velocity is None
    assert NAMES[3] in sentence and NAMES[2] not in sentence
    with pytest.raises(UnusableRecordingError, match=f'change of positions.*{NAMES[3]}'):
        identify_drives(ROBOT, wrong, EffortModel.ideal(ROBOT))


def test_efforts_that_are_cut_off_are_told_and_others_are_not(samples):
    effort = samples.effort.copy()
    most = np.quantile(np.abs(effort[:, 1]), 0.7)
    effort[:, 1] = np.clip(effort[:, 1], -most, most)
    found = identify(ROBOT, [replace(samples, effort=effort)])
    (sentence,) = [one for one in found.findings if 'cut off' in one]
    assert NAMES[1] in sentence and NAMES[0] not in sentence
    assert any('unexplained' in one for one in found.findings)
    coarse = replace(samples, effort=0.5 * np.round(2.0 * samples.effort))
    assert not any(
        'cut off' in one or 'unexplained' in one for one in identify(ROBOT, [coarse]).findings
    )


def test_efforts_of_one_joint_in_other_units_are_told(samples):
    effort = samples.effort.copy()
    effort[:, 4] *= 1e3
    found = identify(ROBOT, [replace(samples, effort=effort)])
    (sentence,) = [one for one in found.findings if 'larger than the robot can give' in one]
    assert NAMES[4] in sentence and NAMES[0] not in sentence


def test_a_joint_without_numbers_is_named(samples):
    effort = samples.effort.copy()
    effort[:, 3] = np.nan
    with pytest.raises(UnusableRecordingError, match=f'efforts of {NAMES[3]} are no numbers'):
        for_robot(replace(samples, effort=effort), ROBOT)


def test_what_is_right_has_no_findings(samples):
    t = np.arange(0.0, 30.0, 0.01)
    q, v, a = motion(t, speed=0.5)
    effort = ROBOT.inverse_dynamics(q, v, a) + ROTOR * a + OFFSET
    effort += VISCOUS * v + COULOMB * np.tanh(v / 0.02)
    effort += 0.1 * np.random.default_rng(0).normal(size=q.shape)
    slow = replace(samples, time=t, position=q, velocity=v, effort=effort)
    assert not identify(ROBOT, [slow]).findings


def test_efforts_without_friction_are_told_to_be_computed(samples):
    t = samples.time
    q, v, a = motion(t)
    computed = replace(samples, position=q, velocity=v, effort=ROBOT.inverse_dynamics(q, v, a))
    assert any('no friction' in one for one in identify(ROBOT, [computed]).findings)
    assert not any('no friction' in one for one in identify(ROBOT, [samples]).findings)


FINE = Robot.from_urdf(re.sub('(lower|upper)="(-?)3"', r'\1="\g<2>0.02"', few_joint_arm('gantry')))
"""Gantry with strokes of 4 cm: 1 cm/s is fast for it."""


def slid(phase=0.0):
    """Slow motion of the gantry, within 8 mm."""
    time, n = np.arange(0.0, 20.0, 0.01), np.arange(3)
    angle = time[:, np.newaxis] * (1.0 + 0.2 * n) + phase
    q, v = 0.004 * np.sin(angle), 0.004 * (1.0 + 0.2 * n) * np.cos(angle)
    effort = 5.0 * v / 0.004 + 20.0 * np.sin(3.0 * angle)
    return JointSamples('gantry', tuple(FINE.joint_names), time, q, v, effort)


def test_slow_slides_are_checked_by_the_size_of_their_strokes():
    one = slid()
    assert for_robot(one, FINE)[0].velocity is not None
    own, sentence = for_robot(replace(one, velocity=1e3 * one.velocity), FINE)
    assert own.velocity is None
    assert 'all joints 1e+03' in sentence
    # Clipped efforts.
    clipped = replace(one, effort=np.clip(one.effort, -15.0, 15.0))
    (stretch,) = regular_stretches(clipped)
    _, shares = cut_off_at([stretch], motion_scales(FINE))
    assert (shares > 0.1).all()
    # Two motions, sample by sample.
    other = slid(2.0)
    time = np.sort(np.concatenate([one.time, one.time + 0.005]))
    both = [np.stack([x, y], axis=1).reshape(-1, 3) for x, y in (
        (one.position, other.position), (one.velocity, other.velocity), (one.effort, other.effort)
    )]  # fmt: skip
    with pytest.raises(UnusableRecordingError, match='two motions are mixed'):
        for_robot(JointSamples('gantry', one.joint_names, time, *both), FINE)
