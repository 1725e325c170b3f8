# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pose and twist of a floating base from an IMU and feet, beside motions whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from walking import FEET, IMU, PERIOD, ROBOT, walk

from dynamics_ros.errors import InvalidArgumentError, UnknownFrameError
from dynamics_ros.estimation.base_estimator import BaseEstimator


def estimates(samples, *, contacts=None, bias=None, noise=None, **options):
    """The estimates of a walk, and the samples that they belong to."""
    estimator = BaseEstimator(ROBOT, FEET, IMU, **options)
    rng, found = np.random.default_rng(0), []
    gyroscope, accelerometer = bias or (np.zeros(3), np.zeros(3))
    for sample in samples:
        shaken = np.zeros((2, 3)) if noise is None else rng.normal(size=(2, 3)) * noise
        estimator.add_imu(
            sample.stamp,
            sample.rate + gyroscope + shaken[0],
            sample.force + accelerometer + shaken[1],
        )
        estimate = estimator.update(sample.stamp, sample.q, sample.stands)
        if estimate is not None:
            found.append((sample, estimate))
    return found


def errors(found):
    """Of position (n, 3), rotation vector (n, 3) and v (n, 6), with the start and yaw aligned."""
    first, began = found[0]
    yaw = [Rotation.from_quat(q[3:7]).as_euler('ZYX')[0] for q in (first.q, began.q)]
    align = Rotation.from_euler('z', yaw[0] - yaw[1])
    p = np.array([align.apply(e.q[:3] - began.q[:3]) - (s.q[:3] - first.q[:3]) for s, e in found])
    turns = np.array(
        [
            (align * Rotation.from_quat(e.q[3:]) * Rotation.from_quat(s.q[3:7]).inv()).as_rotvec()
            for s, e in found
        ]
    )
    return p, turns, np.array([e.v - s.v[:6] for s, e in found])


@pytest.fixture(scope='module')
def walked():
    return walk(3.5)


def test_a_walk_is_followed(walked):
    p, turns, v = errors(estimates(walked))
    late = len(p) // 2
    way = np.linalg.norm(walked[-1].q[:2] - walked[0].q[:2])
    assert way > 0.8
    assert np.linalg.norm(p[-1]) < 0.003 * way
    assert np.abs(turns[late:]).max() < 0.01
    assert np.linalg.norm(v[late:, :3], axis=1).max() < 0.03


def test_biases_and_noise_are_within_the_stated_deviations(walked):
    bias = np.array([0.01, -0.01, 0.02]), np.array([0.1, -0.1, 0.05])
    root = np.sqrt(PERIOD)
    found = estimates(walked, bias=bias, noise=np.array([[1e-3], [1e-2]]) / root)
    p, turns, v = errors(found)
    pose, twist = (
        np.sqrt([np.diag(getattr(e, name)) for _, e in found])
        for name in ('pose_covariance', 'twist_covariance')
    )
    late = slice(len(p) // 2, None)
    assert (np.abs(p[late]) < 4.0 * pose[late, :3] + 1e-3).all()
    assert (np.abs(turns[late]) < 4.0 * pose[late, 3:] + 1e-3).all()
    assert (np.abs(v[late, :3]) < 4.0 * twist[late, :3] + 1e-3).all()
    # Unobservable: position and yaw become less certain, inclination and speed do not.
    assert pose[-1, 0] > pose[50, 0] and pose[-1, 5] > pose[50, 5]
    assert twist[-1, 0] < 0.05 and pose[-1, 3] < 0.05


def test_a_start_that_is_not_level_and_faces_elsewhere_converges():
    """The yaw is not known: the robot starts facing along x of its frame."""
    found = estimates(walk(3.0, yaw=2.0))
    _, turns, _ = errors(found)
    assert np.abs(turns[-1]).max() < 0.01
    assert abs(Rotation.from_quat(found[0][1].q[3:]).as_euler('ZYX')[0]) < 1e-2


def test_a_foot_that_slips_does_not_carry_the_base_away():
    """By 0.1 m in 0.1 s; if it counted as standing, that would be 7 cm and 0.2 m/s."""
    p, _, v = errors(estimates(walk(2.6, slip=1.0)))
    assert np.linalg.norm(p[-1]) < 0.02
    assert np.linalg.norm(v[:, :3], axis=1).max() < 0.03


def test_bad_input_is_named():
    for feet, imu, error, words in (
        (FEET, 'LF_SHANK', InvalidArgumentError, 'fixed to the root link'),
        (FEET, 'nose', UnknownFrameError, 'nose'),
        ((), IMU, InvalidArgumentError, 'at least one'),
    ):
        with pytest.raises(error, match=words):
            BaseEstimator(ROBOT, feet, imu)
    estimator = BaseEstimator(ROBOT, FEET, IMU)
    with pytest.raises(InvalidArgumentError, match='specific_force'):
        estimator.add_imu(1, np.zeros(3), [0.0, 0.0, np.nan])
    with pytest.raises(InvalidArgumentError, match='in_contact'):
        estimator.update(1, ROBOT.neutral(), [True])


def test_it_says_what_it_waits_for_and_starts_anew_after_a_gap(walked):
    estimator = BaseEstimator(ROBOT, FEET, IMU)
    first = walked[0]
    assert estimator.update(first.stamp, first.q, first.stands) is None
    assert 'IMU' in estimator.waiting
    for sample in walked[:60]:
        estimator.add_imu(sample.stamp, sample.rate, sample.force)
        found = estimator.update(sample.stamp, sample.q, sample.stands)
    assert found is not None and not estimator.waiting
    assert estimator.update(sample.stamp + 10**9, sample.q, sample.stands) is None
    assert '+1.00 s apart' in estimator.waiting
    estimator.add_imu(sample.stamp + 10**9, first.rate, first.force)
    assert estimator.update(sample.stamp + 10**9, first.q, first.stands) is None
    assert '0.1 s' in estimator.waiting


def standing(estimator, samples, first=0):
    """Feed samples at rest; the last estimate."""
    found = None
    for k, sample in enumerate(samples, first):
        stamp = 10**9 + 5_000_000 * k
        estimator.add_imu(stamp, sample.rate, sample.force)
        found = estimator.update(stamp, sample.q, np.ones(4, dtype=bool))
    return found


def test_a_blow_to_the_imu_does_not_carry_the_base_away(walked):
    """One reading of 16 g at 200 Hz is a velocity of 0.8 m/s that there never was."""
    estimator, still = BaseEstimator(ROBOT, FEET, IMU), walked[0]
    before = standing(estimator, [still] * 100)
    blow = still.force + np.array([160.0, 0.0, 0.0])
    estimator.add_imu(10**9 + 5_000_000 * 100, still.rate, blow)
    after = standing(estimator, [still] * 400, 101)
    assert np.abs(after.v[:3]).max() < 0.02
    deviations = np.sqrt(np.diag(after.pose_covariance))[:3]
    assert (np.abs(after.q[:3] - before.q[:3]) < 4.0 * deviations + 0.02).all()
    with pytest.raises(InvalidArgumentError, match='specific_force: 10000'):
        estimator.add_imu(10**10, still.rate, [1e4, 0.0, 0.0])


def test_it_levels_itself_by_the_last_moment_and_by_gravity_alone(walked):
    estimator, still = BaseEstimator(ROBOT, FEET, IMU), walked[0]
    nobody = np.zeros(4, dtype=bool)
    for k in range(1000):  # hanging on its side
        stamp = 10**9 + 5_000_000 * (k - 1000)
        estimator.add_imu(stamp, still.rate, still.force[[2, 1, 0]])
        assert estimator.update(stamp, still.q, nobody) is None
    estimate = standing(estimator, [still] * 60)
    R = Rotation.from_quat(estimate.q[3:]) * Rotation.from_quat(still.q[3:7]).inv()
    assert np.abs(R.as_euler('ZYX')[1:]).max() < 0.05
    falling = BaseEstimator(ROBOT, FEET, IMU)
    for k in range(60):
        falling.add_imu(10**9 + 5_000_000 * k, still.rate, np.zeros(3))
        assert falling.update(10**9 + 5_000_000 * k, still.q, np.ones(4, dtype=bool)) is None
    assert '0.00 m/s^2; expected about 9.81' in falling.waiting


def test_one_wrong_joint_state_is_got_over(walked):
    """All feet are elsewhere in one sample; it goes on, and its velocity with it."""
    estimator = BaseEstimator(ROBOT, FEET, IMU)
    for k, sample in enumerate(walked):
        q = sample.q.copy()
        q[7:] += 0.03 * (k == 300)
        estimator.add_imu(sample.stamp, sample.rate, sample.force)
        found = estimator.update(sample.stamp, q, sample.stands)
        assert found is not None or k < 100, estimator.waiting
        if k > 320:
            assert np.abs(found.v[:3] - sample.v[:3]).max() < 0.03
