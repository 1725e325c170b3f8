# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What cannot have been measured of an arm, and what can."""

from __future__ import annotations

import numpy as np
import pytest
from test_control_compliant_arm import DT, HOME, ROBOT

from dynamics_ros.control import MotionCheck
from dynamics_ros.reasons import Reason

REST = np.zeros(ROBOT.nv)
NAMES = list(ROBOT.joint_v_indices)


def judged(before, now, dt):
    check = MotionCheck(ROBOT)
    check.begin(*before)
    return check.judge(*now, dt)


def test_a_position_that_cannot_be_is_named():
    jumped = HOME.copy()
    jumped[3] += 0.1
    assert judged((HOME, REST), (HOME, REST), DT) == ''
    assert judged((HOME, REST), (jumped, REST), DT) == f'the position of {NAMES[3]} has jumped'
    assert judged((HOME, REST), (jumped, REST), 0.5) == ''


def test_a_joint_that_a_push_drives_fast_has_not_jumped():
    fast, step = REST.copy(), 0.004
    fast[5] = -6.0 * ROBOT.velocity_limits[5]
    # It goes on, is stopped, and is driven even faster.
    for v in (fast, REST, 3.0 * fast):
        gone_on = 0.5 * step * (fast + v)
        for moved in (REST, gone_on):
            assert 'jumped' not in judged((HOME, fast), (HOME + moved, v), step)
        # Neither beyond that, nor the other way, nor another joint.
        for moved in (gone_on + 1.5 * step * fast, -step * fast, step * np.roll(fast, 1)):
            assert 'jumped' in judged((HOME, fast), (HOME + moved, v), step)
    # Half of a jump is explained by a velocity that is the difference of positions.
    for size, found in ((0.1, True), (0.05, False)):
        moved = np.where(fast != 0.0, size, 0.0)
        assert ('jumped' in judged((HOME, REST), (HOME + moved, moved / step), step)) == found


@pytest.mark.parametrize('end', ['lower_limits', 'upper_limits'])
def test_a_joint_that_is_beyond_its_range_is_named_from_a_tenth_of_a_radian_on(end):
    outwards = {'lower_limits': -1.0, 'upper_limits': 1.0}[end]
    q = HOME.copy()
    for beyond, told in ((0.05, ''), (0.31, f'{NAMES[1]} is 0.31 beyond its range')):
        q[1] = getattr(ROBOT, end)[1] + outwards * beyond
        assert judged((q, REST), (q, REST), DT) == told


CONTRADICT = 'positions and velocities of {} contradict each other'


def through(check, seconds, position, velocity, k=2):
    """What is said of a joint that is told to move so, and when [s]."""
    check.begin(HOME, REST)
    for i in range(round(seconds / DT)):
        q, v = HOME.copy(), REST.copy()
        q[k] += position(i * DT)
        v[k] = velocity(i * DT)
        told = check.judge(q, v, DT)
        if told:
            return told, i * DT
    return '', seconds


FROZEN = 'the joint state of {} is frozen'


def test_a_position_that_stands_still_while_its_velocity_goes_on_is_found_within_20_ms():
    told, after = through(MotionCheck(ROBOT), 1.0, lambda t: 0.0, lambda t: 1.0)
    assert told == FROZEN.format(NAMES[2])
    assert after <= 0.02


def test_a_reason_has_a_code_and_lasts_until_states_are_true_again():
    check = MotionCheck(ROBOT)
    assert not check.reason
    assert not check.blind
    through(check, 1.0, lambda t: 0.0, lambda t: 1.0)
    assert check.reason.reason is Reason.STATES_FROZEN
    assert check.blind
    for k in range(200):
        assert check.judge(HOME, REST, DT)
        assert check.lasting == (k * DT >= 0.2 - 2.0 * DT)
    assert check.judge(HOME + 1e-6, REST, DT) == ''
    assert not check.blind


@pytest.mark.parametrize('scale', [0.0, -1.0, 57.3])
def test_velocities_of_another_unit_or_sign_or_none_are_found(scale):
    speed = 0.5 if scale < 10.0 else 0.01
    told, _ = through(MotionCheck(ROBOT), 1.0, lambda t: speed * t, lambda t: scale * speed)
    assert told == CONTRADICT.format(NAMES[2])


@pytest.mark.parametrize('late', [0.0, 0.02, 0.04])
@pytest.mark.parametrize('rate', [0.5, 3.0])
def test_a_velocity_that_a_filter_makes_late_contradicts_nothing(late, rate):
    fastest = min(1.5, 0.5 * rate)
    told, _ = through(
        MotionCheck(ROBOT),
        4.0,
        lambda t: fastest / rate * (1.0 - np.cos(rate * t)),
        lambda t: fastest * np.sin(rate * max(t - late, 0.0)),
    )
    assert told == ''


def test_coarse_and_noisy_measurements_contradict_nothing():
    random = np.random.default_rng(3)
    told, _ = through(
        MotionCheck(ROBOT),
        4.0,
        lambda t: 1e-3 * np.round(0.3 * np.sin(2.0 * t) / 1e-3),
        lambda t: 0.6 * np.cos(2.0 * t) + random.normal(0.0, 0.2),
    )
    assert told == ''


def test_a_prediction_stays_within_bounds_however_long_states_are_frozen():
    check = MotionCheck(ROBOT)
    check.begin(HOME, REST, REST)
    through(check, 1.0, lambda t: t, lambda t: 1.0)
    q, v = HOME.copy(), REST.copy()
    q[2], v[2] = HOME[2] + 1.0 - DT, 1.0
    for _ in range(5000):
        check.judge(q, v, DT, None, 0.5 * ROBOT.effort_limits)
        assert np.abs(check.q - q).max() <= 1.0 + 1e-12
        assert (np.abs(check.v) <= 2.0 * ROBOT.velocity_limits).all()
    assert check.lasting
