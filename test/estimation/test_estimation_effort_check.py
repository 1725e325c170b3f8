# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts that are not what they are taken for are named, from a moment at rest."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.robots import urdf_path
from dynamics_ros import Robot
from dynamics_ros.estimation import EffortCheck, EffortModel, EffortVerdict

BENT = np.array([0.3, -0.5, 0.2, -2.0, 0.4, 1.6, 0.8])
GEARS = np.array([0.02, 0.03, 0.02, 0.025, 0.05, 0.06, 0.05])
"""Currents over torques, joint by joint different."""


@pytest.fixture(scope='module')
def robot():
    locked = {'panda_finger_joint1': 0.0}
    return Robot.from_urdf(urdf_path('panda'), locked_joints=locked)


def checked(robot, effort, v=0.0, *, includes_gravity=True, samples=400):
    """The report after samples of 1 ms with 0.02 Nm of noise."""
    model = EffortModel.ideal(robot).with_values(includes_gravity=includes_gravity)
    check = EffortCheck(robot, model)
    rng = np.random.default_rng(0)
    for step in range(samples):
        noise = 0.02 * rng.normal(size=robot.nv) if np.any(effort) else 0.0
        check.add(step * 1_000_000, BENT, np.full(robot.nv, v), effort + noise)
    return check.report


@pytest.mark.parametrize(
    ('factor', 'verdict'),
    [
        (1.0, EffortVerdict.EXPECTED),
        (1.2, EffortVerdict.EXPECTED),  # an unknown payload
        (0.0, EffortVerdict.ZEROS),
        (-1.0, EffortVerdict.OPPOSITE),
        (GEARS, EffortVerdict.OTHER_UNIT),
        (30.0, EffortVerdict.OTHER_UNIT),
    ],
)
def test_efforts_are_held_against_the_weight(robot, factor, verdict):
    report = checked(robot, factor * robot.gravity(BENT))
    assert report.verdict is verdict
    assert bool(report.advice) == (verdict is not EffortVerdict.EXPECTED)


def test_gravity_compensated_efforts_are_told_either_way(robot):
    little = np.full(robot.nv, 0.05) * np.array([1, -1, 1, 1, -1, 1, -1])
    assert checked(robot, little).verdict is EffortVerdict.COMPENSATED
    assert checked(robot, little, includes_gravity=False).verdict is EffortVerdict.EXPECTED
    report = checked(robot, robot.gravity(BENT), includes_gravity=False)
    assert report.verdict is EffortVerdict.NOT_COMPENSATED
    assert 'effort.includes_gravity' in report.advice


def test_currents_are_named_with_what_to_set(robot):
    assert 'effort.scale' in checked(robot, GEARS * robot.gravity(BENT)).advice


@pytest.mark.parametrize('friction', [None, 16.0])
@pytest.mark.parametrize(
    'posture', [(0.0, -1.57, 0.0, -1.57, 0.0, 0.0), (0.0, -1.6, 0.2, 0.0, 0.0, 0.0)]
)
def test_efforts_of_an_upright_arm_that_friction_holds_are_not_judged(friction, posture):
    """A few Nm of gravity and up to 16 Nm of friction of either sign at rest."""
    arm = Robot.from_urdf(urdf_path('ur10'))
    known = None if friction is None else np.full(arm.nv, friction)
    rng = np.random.default_rng(3)
    for _ in range(20):
        check = EffortCheck(arm, EffortModel.ideal(arm), friction=known)
        effort = arm.gravity(posture) + rng.uniform(-16.0, 16.0, arm.nv)
        for step in range(400):
            check.add(step * 1_000_000, np.array(posture), np.zeros(arm.nv), effort)
        assert not check.report.advice


def test_the_sign_of_efforts_is_judged_where_the_weight_is_well_above_friction():
    arm = Robot.from_urdf(urdf_path('ur10'))
    stretched = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    rng = np.random.default_rng(3)
    check = EffortCheck(arm, EffortModel.ideal(arm))
    effort = -arm.gravity(stretched) + rng.uniform(-16.0, 16.0, arm.nv)
    for step in range(400):
        check.add(step * 1_000_000, stretched, np.zeros(arm.nv), effort)
    assert check.report.verdict is EffortVerdict.OPPOSITE
