# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings of another robot, unit, clock or mounting, and such with faults of drivers."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from few_joint_arms import few_joint_arm
from simulated_arm import (
    COULOMB,
    FILE,
    OFFSET,
    ROBOT,
    ROTOR,
    VISCOUS,
    Truth,
    efforts,
    motion,
    recording,
    truth,
)

from dynamics_ros import Robot
from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation import EffortModel
from dynamics_ros.identification import (
    JointSamples,
    NotThisRobotError,
    UnusableRecordingError,
    for_robot,
    identify,
)
from dynamics_ros.identification.alternatives import check_mounting
from dynamics_ros.identification.joint_states.clock import regular_stretches
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


@pytest.mark.parametrize(
    'gravity',
    [
        *((9.81, 0.0, 0.0), (0.0, 0.0, 9.81), (0.0, 6.9, -6.9)),
        *((1.36, 1.02, -9.66), (3.92, 2.94, -8.50), (6.80, 5.10, -4.91)),  # 10, 30 and 60 degrees
    ],
)
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


FINE = Robot.from_urdf(re.sub('(lower|upper)="(-?)3"', r'\1="\g<2>0.02"', few_joint_arm('gantry')))
"""Gantry with strokes of 4 cm: 1 cm/s is fast for it."""


def slid():
    """Slow motion of the gantry, within 8 mm."""
    time, n = np.arange(0.0, 20.0, 0.01), np.arange(3)
    angle = time[:, np.newaxis] * (1.0 + 0.2 * n)
    q, v = 0.004 * np.sin(angle), 0.004 * (1.0 + 0.2 * n) * np.cos(angle)
    effort = 5.0 * v / 0.004 + 20.0 * np.sin(3.0 * angle)
    return JointSamples('gantry', tuple(FINE.joint_names), time, q, v, effort)


def test_slow_slides_are_checked_by_the_size_of_their_strokes():
    one = slid()
    assert for_robot(one, FINE)[0].velocity is not None
    own, sentence = for_robot(replace(one, velocity=1e3 * one.velocity), FINE)
    assert own.velocity is None
    assert 'all joints 1e+03' in sentence


def said(samples):
    """What is said of a recording: by an error, or by a sentence."""
    try:
        return ' '.join(check_mounting(ROBOT, regular_stretches(samples), np.ones(7)))
    except DynamicsRosError as error:
        return str(error)


@pytest.mark.parametrize('mass', [1.0, 3.0])
def test_a_tool_that_is_not_described_is_neither_another_unit_nor_another_sign(mass):
    robot = ARM.robot.with_payload('tool0', mass, (0.03, -0.02, 0.08), 0.003 * mass * np.eye(3))
    samples = recording(Truth(robot, ARM.bodies, ARM.scale), duration=30.0, rate=100.0)
    assert said(samples) == ''
    found = identify(ROBOT, [samples])
    assert found.effort_model.scale.tolist() == [1.0] * 7
    assert found.train.percent_all < 1.5


@pytest.mark.parametrize('held', [False, True])
def test_missing_gravity_is_named_where_other_masses_hide_it(held):
    t = 0.01 * np.arange(1600)
    q, v, a = motion(t, 0, speed=2.0)
    effort = efforts(ARM, q, v, a) - ARM.robot.gravity(q)
    samples = JointSamples('bare', tuple(NAMES), t, q, v, effort)
    with pytest.raises(DynamicsRosError, match=r'effort\.includes_gravity false'):
        check_mounting(ROBOT, regular_stretches(samples), np.ones(7), held)


@pytest.fixture(scope='module')
def samples_imperfect_recordings():
    return replace(recording(ARM, duration=40.0), velocity=None)


def spiky(samples):
    rng = np.random.default_rng(1)
    effort, position = samples.effort.copy(), samples.position.copy()
    for values, size, count in ((effort, 80.0, 60), (position, 2.0, 10)):
        rows, columns = rng.integers(10, len(values) - 10, count), rng.integers(0, 7, count)
        values[rows, columns] += size * rng.choice([-1.0, 1.0], count)
    return replace(samples, effort=effort, position=position)


def jittery(samples):
    rng = np.random.default_rng(2)
    kept = np.flatnonzero(rng.random(len(samples)) > 0.03)
    late = samples.rows(kept)
    return replace(late, time=np.sort(late.time + rng.exponential(0.001, len(late))))


def coarse(samples):
    step, unit = 2.0 * np.pi / 4096.0, 0.05
    return replace(
        samples,
        position=step * np.round(samples.position / step),
        effort=unit * np.round(samples.effort / unit),
    )


def currents(samples):
    return replace(samples, effort=samples.effort / 11.5)


def without_numbers(samples):
    """With values that no sensor reads, in some samples each."""
    velocity = np.gradient(samples.position, samples.time, axis=0)
    values = {'position': samples.position.copy(), 'effort': samples.effort.copy()}
    for row, (kind, wrong) in enumerate(itertools.product(values, (np.nan, np.inf, 1e300))):
        values[kind][700 * (row + 1), row % 7] = wrong
    time = samples.time.copy()
    time[[33, 333]] = np.nan, np.inf
    velocity[:, 3] = np.nan  # by a driver that does not fill it
    return replace(samples, time=time, velocity=velocity, **values)


@pytest.mark.parametrize('changed', [spiky, jittery, coarse, without_numbers])
def test_the_robot_is_found_all_the_same(samples_imperfect_recordings, changed):
    found = identify(ROBOT, [changed(samples_imperfect_recordings)])
    assert found.evaluate(recording(ARM, seed=5)).percent_all < 1.0
    assert found.consistent
    assert found.effort_model.coulomb == pytest.approx(COULOMB, abs=0.1)


def test_efforts_that_never_change_are_told_by_joint(samples_imperfect_recordings):
    effort = samples_imperfect_recordings.effort.copy()
    effort[:, 2] = 0.5
    silent = replace(samples_imperfect_recordings, effort=effort)
    name = ROBOT.joint_names[2]
    # Masses would be such that this joint carries nothing.
    with pytest.raises(UnusableRecordingError, match=f'efforts of {name} never change'):
        identify(ROBOT, [silent])
    found = identify(ROBOT, [replace(silent, effort=effort)], held=True)
    assert any(f'efforts of {name} never change' in finding for finding in found.findings)
    with pytest.raises(UnusableRecordingError, match='does not report them'):
        identify(ROBOT, [replace(samples_imperfect_recordings, effort=np.ones_like(effort))])


def test_currents_are_turned_into_torques_as_far_as_the_description_tells(
    samples_imperfect_recordings,
):
    found = identify(ROBOT, [currents(samples_imperfect_recordings)])
    assert found.evaluate(currents(recording(ARM, seed=5))).percent_all < 1.5
    assert found.effort_model.scale == pytest.approx(np.full(7, 11.5), rel=0.25)
    assert any('other units' in sentence for sentence in found.findings)
