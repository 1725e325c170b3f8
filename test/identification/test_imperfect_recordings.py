# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings as drivers make them: spikes, jitter, losses, coarse encoders, currents."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from simulated_arm import COULOMB, ROBOT, recording, truth

from dynamics_ros import Robot
from dynamics_ros.identification import UnusableRecordingError, identify
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


def test_a_description_of_a_larger_robot_is_doubted_and_loads_are_not():
    samples = recording(ARM, duration=30.0, rate=100.0)
    model = ROBOT.model
    for factor, doubted in ((2.2, True), (0.6, False)):
        bodies = tuple(Inertia.from_array(factor * body) for body in described(ROBOT))
        found = identify(Robot(replace(model, inertias=bodies)), [samples])
        assert any('larger robot' in one for one in found.findings) == doubted
        assert (found.effort_model.scale == 1.0).all()
