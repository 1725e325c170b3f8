# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that jump back and forth are found; motion, wrapped angles and one jump are not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import examples
from urdf_texts import pendulum

from dynamics_ros import Robot
from dynamics_ros.estimation.samples.doubts import JumpCheck
from dynamics_ros.estimation.samples.robot_state import RobotState

LIMIT = '<limit lower="-7" upper="7" velocity="2" effort="10"/></joint>'
LIMITED = pendulum('limited').replace('continuous', 'revolute').replace('</joint>', LIMIT)
PERIOD = 0.001


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(LIMITED, backend='python')


def found(robot, times, positions, *, calls=1):
    """The sentence after some calls, each with these states before it."""
    check, nothing = JumpCheck(), np.zeros(1)
    for _ in range(calls):
        for time, position in zip(times, positions, strict=True):
            q, stamp = np.array([position]), int(time * 1e9)
            mask = np.zeros(1, dtype=bool)
            check.record(RobotState(stamp, q, nothing, nothing, (), (), (), mask))
        check.update(robot, lambda: '/joint_states has 2 publishers')
    return check.problem


def test_two_publishers_in_turn(robot):
    times = PERIOD * np.arange(20)
    told = found(robot, times, np.where(np.arange(20) % 2, 0.3, -0.5))
    assert told == (
        'positions jump back and forth: swing between -0.5 and 0.3 rad; /joint_states has 2 '
        'publishers, of which only one may report a joint'
    )


@examples(50)
@given(
    speed=st.floats(0.0, 2.0),
    frequency=st.floats(0.1, 20.0),
    noise=st.floats(0.0, 2e-3),
    late=st.floats(0.0, 1.9e-3),
    seed=st.integers(0, 1000),
)
def test_motion_within_the_limit_is_none(robot, speed, frequency, noise, late, seed):
    random = np.random.default_rng(seed)
    times = PERIOD * np.arange(64)
    rate = 2.0 * math.pi * frequency
    positions = 3.0 + speed / rate * np.sin(rate * times) + noise * random.uniform(-1, 1, 64)
    stamps = np.sort(times + late * random.uniform(0, 1, 64))
    assert not found(robot, stamps, positions, calls=5)


def test_wrapped_angles_are_none(robot):
    positions = math.pi + 0.001 * np.sin(np.arange(60))
    wrapped = (positions + math.pi) % (2.0 * math.pi) - math.pi
    assert np.abs(np.diff(wrapped)).max() > 6.0
    assert not found(robot, PERIOD * np.arange(60), wrapped, calls=5)


def test_jumps_are_forgotten_after_ten_looks(robot):
    check, nothing = JumpCheck(), np.zeros(1)
    mask = np.zeros(1, dtype=bool)
    said = []
    for look in range(12):
        for i in range(10):
            position = 0.5 * (i % 2) if look == 0 else 0.0
            state = RobotState(i * 10**6, np.array([position]), nothing, nothing, (), (), (), mask)
            check.record(state)
        check.update(robot, lambda: 'there is 1 publisher')
        said.append(bool(check.problem))
    assert said == [True] * 10 + [False] * 2
