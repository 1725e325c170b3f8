# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings as drivers make them: spikes, jitter, losses, coarse encoders, currents."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, ROBOT, efforts, motion, recording, truth

from dynamics_ros import Robot
from dynamics_ros.identification import JointSamples, UnusableRecordingError, identify
from dynamics_ros.identification.bodies.pseudo_inertia import described
from dynamics_ros.spatial import Inertia

ARM = truth(1)


@pytest.fixture(scope='module')
def samples():
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
def test_the_robot_is_found_all_the_same(samples, changed):
    found = identify(ROBOT, [changed(samples)])
    assert found.evaluate(recording(ARM, seed=5)).percent_all < 1.0
    assert found.consistent
    assert found.effort_model.coulomb == pytest.approx(COULOMB, abs=0.1)


@pytest.mark.parametrize(('factor', 'told'), [(1e9, 'apart'), (1e-9, 'apart'), (0.0, 'same stamp')])
def test_stamps_that_are_not_in_seconds_are_refused(samples, factor, told):
    with pytest.raises(UnusableRecordingError, match=told):
        identify(ROBOT, [replace(samples, time=samples.time * factor)])


def test_efforts_that_never_change_are_told_by_joint(samples):
    effort = samples.effort.copy()
    effort[:, 2] = 0.5
    silent = replace(samples, effort=effort)
    name = ROBOT.joint_names[2]
    # Masses would be such that this joint carries nothing.
    with pytest.raises(UnusableRecordingError, match=f'efforts of {name} never change'):
        identify(ROBOT, [silent])
    found = identify(ROBOT, [replace(silent, effort=effort)], held=True)
    assert any(f'efforts of {name} never change' in finding for finding in found.findings)
    with pytest.raises(UnusableRecordingError, match='does not report them'):
        identify(ROBOT, [replace(samples, effort=np.ones_like(effort))])


def test_currents_are_turned_into_torques_as_far_as_the_description_tells(samples):
    found = identify(ROBOT, [currents(samples)])
    assert found.evaluate(currents(recording(ARM, seed=5))).percent_all < 1.5
    assert found.effort_model.scale == pytest.approx(np.full(7, 11.5), rel=0.25)
    assert any('other units' in sentence for sentence in found.findings)


def test_spikes_are_counted_and_told(samples):
    found = identify(ROBOT, [spiky(samples)])
    told = [one for one in found.findings if 'left out' in one]
    assert [one.split(' are ')[0] for one in told] == ['single positions', 'single efforts']
    assert not any('left out' in one for one in identify(ROBOT, [samples]).findings)


def test_steps_of_friction_and_turns_are_no_spikes(samples):
    slow = samples.rows(np.arange(0, len(samples), 8))
    for one in (samples, slow):
        assert not one.effort_spikes.any()
        assert not one.position_spikes.any()


@pytest.mark.parametrize('factor', [3.0, 10.0])
def test_rotors_that_are_larger_than_the_arm_are_no_other_unit_of_efforts(factor):
    """As of small motors behind gears of 1:100 in light arms."""
    turning = factor * ROBOT.mass_matrix(np.zeros(7)).diagonal().max()
    t = np.arange(0.0, 30.0, 0.01)
    q, v, a = motion(t)
    rng = np.random.default_rng(3)
    effort = efforts(ARM, q, v, a) + turning * a + 0.1 * rng.normal(size=q.shape)
    position = q + 2e-5 * rng.normal(size=q.shape)
    found = identify(ROBOT, [JointSamples('geared', ROBOT.joint_names, t, position, None, effort)])
    assert found.effort_model.scale.tolist() == [1.0] * 7
    assert not any('torques of the description' in one for one in found.findings)
    assert found.train.percent_all < 1.0
    q, v, a = motion(t, seed=5)
    rigid = ROBOT.regressor(q, v, a) @ found.bodies.ravel()
    assert np.linalg.norm(rigid - ARM.robot.inverse_dynamics(q, v, a)) < 0.05 * np.linalg.norm(
        ARM.robot.gravity(q)
    )


def test_a_description_of_a_larger_robot_is_doubted_and_loads_are_not():
    samples = recording(ARM, duration=30.0, rate=100.0)
    model = ROBOT.model
    for factor, doubted in ((2.2, True), (0.6, False)):
        bodies = tuple(Inertia.from_array(factor * body) for body in described(ROBOT))
        found = identify(Robot(replace(model, inertias=bodies)), [samples])
        assert any('larger robot' in one for one in found.findings) == doubted
        assert (found.effort_model.scale == 1.0).all()
