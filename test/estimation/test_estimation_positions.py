# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that cannot be in the unit that they are taken for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.position_check import joints_far_beyond_limits, limits_problem

ARM = Robot.from_urdf((Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text())
WHEEL = Robot.from_urdf(
    '<robot name="wheel"><link name="base"/><link name="rim"/><joint name="axle" type="continuous">'
    '<parent link="base"/><child link="rim"/></joint></robot>',
    'floating',
)


def test_within_the_limits_and_a_little_beyond_nothing_is_said():
    for q in (ARM.lower_limits, ARM.upper_limits, ARM.neutral()):
        assert joints_far_beyond_limits(ARM, q) == {}
        assert joints_far_beyond_limits(ARM, 1.1 * q) == {}
    assert limits_problem({}) == ''


def test_degrees_are_named_with_joint_value_and_limits():
    q = ARM.neutral()
    q[2] = 45.0
    name = ARM.joint_names[2]
    (told,) = joints_far_beyond_limits(ARM, q).values()
    limits = f'{ARM.lower_limits[2]:.4g} to {ARM.upper_limits[2]:.4g} rad'
    assert told == f'{name} is at 45 (limits {limits}; degrees?)'
    text = limits_problem(joints_far_beyond_limits(ARM, np.full(7, 90.0)))
    assert all(name in text for name in ARM.joint_names)


def test_a_joint_without_limits_cannot_be_judged():
    q = WHEEL.neutral()
    q[-1], q[:3] = 1e6, 1e6
    assert joints_far_beyond_limits(WHEEL, q) == {}


def test_bad_input_is_refused():
    with pytest.raises(InvalidArgumentError, match='q'):
        joints_far_beyond_limits(ARM, [1.0, np.nan])
