# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Twists of odometry that contradict its poses are found; noise, drift and corrections are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynamics_ros.estimation.samples.moving_base import BaseSample, TwistCheck

AXES = (
    "the linear velocity of odom looks to be in the axes of 'odom'; nav_msgs/Odometry has it in "
    'those of child_frame_id'
)


def walk(rate=50.0, *, speed=0.5, heading=2.0, turning=0.2, seconds=5.0):
    """Times [s], positions, rotations and true twists of a quadruped that trots in a curve."""
    t = np.arange(0.0, seconds, 0.1 / rate)  # fine steps, of which every tenth is a sample
    rocking = 2.0 * np.pi * 3.0 * t
    angles = np.column_stack(
        (heading + turning * t, 0.06 * np.sin(rocking), 0.08 * np.cos(0.5 * rocking))
    )
    rotations = Rotation.from_euler('ZYX', angles)
    velocity = np.column_stack(
        (speed + 0.05 * np.sin(rocking), 0.05 * np.cos(rocking), 0.3 * np.cos(rocking))
    )
    steps = np.gradient(t)[:, None]
    positions = np.cumsum(rotations.apply(velocity) * steps, axis=0)
    spin = (rotations[:-1].inv() * rotations[1:]).as_rotvec() / np.diff(t)[:, None]
    twists = np.column_stack((velocity, np.vstack((spin, spin[-1:]))))
    return t[::10], positions[::10], rotations[::10], twists[::10]


def told(motion, change=None, noise=0.0, jump=None, planar=False):
    """Findings after each second of a motion, with its twists changed by a function."""
    times, positions, rotations, twists = motion
    random = np.random.default_rng(5)
    check, problems, missing = TwistCheck(), [], []
    last = 0
    for i, time in enumerate(times):
        twist = twists[i].copy() if change is None else change(twists[i].copy(), rotations[i])
        place = positions[i] + noise * random.standard_normal(3)
        turned = Rotation.from_rotvec(noise * random.standard_normal(3)) * rotations[i]
        if jump is not None and time > jump:
            place += [0.4, -0.3, 0.0]
        if planar:
            q = np.array([*place[:2], turned.as_euler('ZYX')[0]])
            twist = twist[[0, 1, 5]]
        else:
            q = np.concatenate((place, turned.as_quat()))
        check.record(BaseSample(int(1e9 * (5.0 + time)), q, twist))
        if int(time) > last:
            last = int(time)
            check.update('odom')
            problems.append(check.problem)
            missing.append(check.missing)
    return problems, missing


def of_parent(twist, rotation):
    twist[:3] = rotation.apply(twist[:3])
    return twist


@pytest.mark.parametrize(('rate', 'heading'), [(20.0, 0.8), (50.0, 2.0), (300.0, -1.5)])
def test_a_velocity_in_the_axes_of_the_parent(rate, heading):
    problems, missing = told(walk(rate, heading=heading, turning=0.0), of_parent, noise=1e-3)
    assert problems[:2] == ['', '']  # one comparison may be wrong
    assert problems[2] == problems[-1] == AXES
    assert not any(missing)


def test_it_is_withdrawn_when_velocities_become_right():
    times, *rest = walk(seconds=20.0)
    changed = iter(range(len(times)))
    problems, _ = told((times, *rest), lambda v, R: of_parent(v, R) if next(changed) < 300 else v)
    assert problems[3] == AXES
    assert not problems[-1]


@pytest.mark.parametrize('rate', [20.0, 200.0])
@pytest.mark.parametrize(('heading', 'turning'), [(0.0, 0.0), (0.8, 1.0), (2.0, 0.0), (-1.5, 0.3)])
@pytest.mark.parametrize('planar', [False, True])
def test_a_right_twist(rate, heading, turning, planar):
    motion = walk(rate, heading=heading, turning=turning)
    for noise in (0.0, 3e-3):
        problems, missing = told(motion, noise=noise, planar=planar)
        assert not any(problems) and not any(missing)
    problems, missing = told(motion, jump=2.3, planar=planar)  # a correction by a map
    assert not any(problems) and not any(missing)


def test_numbers_beyond_all_measure_are_no_error():
    check = TwistCheck()
    for k in range(400):
        q, v = np.array([0.0, 1e300 * (-1) ** k, 0.0, 0.0, 0.0, 0.0, 1.0]), np.full(6, 1e308)
        check.record(BaseSample(k * 10_000_000, q, v))
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            check.update('odom')
    assert not check.problem and not check.missing


def test_twists_of_a_slow_estimator_are_not_judged():
    motion = walk(8.0)
    problems, missing = told(motion, of_parent)
    assert not any(problems) and not any(missing)


def test_components_that_are_never_filled_in():
    def only_planar(twist, rotation):
        return twist * [1, 1, 0, 0, 0, 1]

    problems, missing = told(walk(), only_planar, noise=1e-3)
    assert not any(problems)
    assert missing[1] == ''
    assert missing[-1] == (
        'the twist of odom is always zero in linear.z, angular.x, angular.y, although the poses '
        'move so: use a state estimator that fills it in'
    )


def test_a_base_at_rest_may_have_a_twist_of_zero():
    times, positions, rotations, twists = walk()
    still = times, 0.0 * positions, rotations[np.zeros(len(times), dtype=int)], 0.0 * twists
    for noise in (0.0, 3e-3):
        problems, missing = told(still, noise=noise)
        assert not any(problems) and not any(missing)
