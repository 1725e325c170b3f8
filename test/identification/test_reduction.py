# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings as triangles: the same robot comes out, however many there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.recordings_fleet import FleetRobot
from dynamics_ros import Robot
from dynamics_ros.identification import JointSamples, UnusableRecordingError, identify
from dynamics_ros.identification.bodies.base_parameters import BaseParameters
from dynamics_ros.identification.reduced import Reducer, Reduction, identify_reduced

FLEET_ROBOT = FleetRobot.of({1: 1.3})
ROBOT = FLEET_ROBOT.robot
BASE = BaseParameters.of(ROBOT)


def recording(seed, duration=20.0):
    parts = list(FLEET_ROBOT.samples(duration, 100.0, seed))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return JointSamples(f'bag {seed}', ROBOT.joint_names, *columns)


def reduced(samples, parts=1):
    reducer = Reducer(ROBOT, BASE)
    for rows in np.array_split(np.arange(len(samples)), parts):
        reducer.add(samples.rows(rows))
    return reducer.result(samples.source)


@pytest.fixture(scope='module')
def recordings():
    return [recording(seed) for seed in range(3)]


@pytest.fixture(scope='module')
def triangles(recordings):
    return [reduced(samples) for samples in recordings]


def test_triangles_identify_the_robot_that_samples_do(recordings, triangles):
    whole, small = identify(ROBOT, recordings), identify_reduced(ROBOT, triangles)
    for name in ('viscous', 'coulomb'):
        ours, theirs = getattr(small.effort_model, name), getattr(whole.effort_model, name)
        np.testing.assert_allclose(ours, theirs, atol=0.03)
    assert small.train.percent_all == pytest.approx(whole.train.percent_all, rel=0.3)
    coulomb = small.effort_model.coulomb[1]
    assert coulomb == pytest.approx(0.65, rel=0.1)


def test_products_of_triangles_are_those_of_the_rows_in_any_order(triangles):
    def products(one):
        R = one.triangles
        return R.swapaxes(-1, -2) @ R

    both = Reduction.combined(triangles)
    other = Reduction.combined([Reduction.combined(triangles[1:]), triangles[0]])
    total = sum(products(one) for one in triangles)
    size = np.abs(total).max()
    for one in (both, other):
        np.testing.assert_allclose(products(one), total, atol=1e-12 * size)
    assert both.count == sum(one.count for one in triangles)
    assert both.triangles.shape == triangles[0].triangles.shape


def test_a_file_says_the_same(tmp_path, triangles):
    triangles[0].write(tmp_path / 'bag.npz')
    read = Reduction.read(tmp_path / 'bag.npz')
    np.testing.assert_array_equal(read.triangles, triangles[0].triangles)
    assert (read.source, read.joint_names) == (triangles[0].source, triangles[0].joint_names)
    assert read.filtering == triangles[0].filtering
    (tmp_path / 'bad.npz').write_bytes(b'no file')
    with pytest.raises(UnusableRecordingError, match='no reduced recording'):
        Reduction.read(tmp_path / 'bad.npz')


def test_those_of_another_version_are_refused(triangles):
    old = replace(triangles[0], triangles=triangles[0].triangles[:, :, :-3, :-3])
    with pytest.raises(UnusableRecordingError, match='version with other columns'):
        identify_reduced(FLEET_ROBOT.robot, [old])


def test_another_robot_is_refused(triangles):
    other = Robot.from_urdf(FLEET_ROBOT.text, locked_joints={'wrist_roll': 0.0})
    with pytest.raises(UnusableRecordingError, match='another robot'):
        identify_reduced(other, triangles)
