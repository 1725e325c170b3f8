# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Efforts along a trajectory, and what of it is beyond limits."""

from __future__ import annotations

import numpy as np
import pytest
from ros_harness import description

from dynamics_ros import Robot
from dynamics_ros.control import FeedForward, JointMotion
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.effort_model import EffortModel
from dynamics_ros.simulation import comfortable_posture

ROBOT = Robot.from_urdf(description())
NAMES = ROBOT.joint_names
HOME = comfortable_posture(ROBOT, 'tool0')
FRICTION = EffortModel.from_robot(ROBOT)
TIME = np.linspace(0.0, 2.0, 41)
AMPLITUDE = np.linspace(0.05, 0.2, 7)


def wave(t):
    """Positions, velocities and accelerations of a motion that begins and ends at rest."""
    t = np.asarray(t)[:, None]
    w = np.pi
    q = HOME + AMPLITUDE * 0.5 * (1.0 - np.cos(w * t))
    return q, AMPLITUDE * 0.5 * w * np.sin(w * t), AMPLITUDE * 0.5 * w**2 * np.cos(w * t)


def test_efforts_are_those_of_the_motion_with_payload_and_friction():
    robot = ROBOT.with_payload('tool0', 1.5, [0.0, 0.0, 0.1])
    q, v, a = wave(TIME)
    efforts = FeedForward(robot, HOME, FRICTION.friction_torque).efforts(
        JointMotion.of(NAMES, TIME, q, v, a)
    )
    expected = [
        robot.inverse_dynamics(*one) + FRICTION.friction_torque(one[1])
        for one in zip(q, v, a, strict=True)
    ]
    assert np.abs(efforts - expected).max() < 1e-9
    # Where the robot carries itself, the rest of it.
    lighter = FeedForward(robot, HOME, FRICTION.friction_torque, with_gravity=False)
    rest = lighter.efforts(JointMotion.of(NAMES, TIME, q, v, a))
    assert np.abs(efforts - rest - [robot.gravity(one) for one in q]).max() < 1e-9


@pytest.mark.parametrize('carries_itself', [False, True])
def test_friction_that_grows_with_the_load_is_overcome(carries_itself):
    model = FRICTION.with_values(load_friction=0.1, coulomb=0.5)
    q, v, a = wave(TIME)
    motion = JointMotion.of(NAMES, TIME, q, v, a)
    feed_forward = FeedForward(ROBOT, HOME, model.friction_torque, with_gravity=not carries_itself)
    weight = ROBOT.gravity(q) if carries_itself else np.zeros_like(q)
    motors = feed_forward.efforts(motion) + weight
    # What an estimator finds behind friction is what the motion needs.
    behind = [model.joint_torque(*one) for one in zip(motors, v, strict=True)]
    assert np.abs(behind - ROBOT.inverse_dynamics(q, v, a)).max() < 1e-9
    without = FeedForward(ROBOT, HOME, model.with_values(load_friction=0.0).friction_torque)
    assert np.abs(motors - without.efforts(motion)).max() > 0.5


def test_what_points_do_not_say_is_derived():
    q, v, a = wave(TIME)
    cubic = JointMotion.of(NAMES, TIME, q, v)
    assert np.abs(cubic.a - a).max() < 0.01 * np.abs(a).max()
    spline = JointMotion.of(NAMES, TIME, q)
    assert np.abs(spline.v - v).max() < 0.01 * np.abs(v).max()
    assert np.abs(spline.a - a)[1:-1].max() < 0.01 * np.abs(a).max()
    alone = JointMotion.of(NAMES, [1.0], [HOME])
    assert not alone.v.any()
    assert not alone.a.any()
    assert np.abs(FeedForward(ROBOT, HOME).efforts(alone)[0] - ROBOT.gravity(HOME)).max() < 1e-9


def test_joints_that_are_not_named_stay_where_they_are():
    q, v, a = wave(TIME)
    some = [5, 2]
    names = [NAMES[i] for i in some]
    found = FeedForward(ROBOT, HOME).efforts(
        JointMotion.of(names, TIME, q[:, some], v[:, some], a[:, some])
    )
    full = [np.tile(HOME, (len(TIME), 1)), *np.zeros((2, len(TIME), 7))]
    for whole, part in zip(full, (q, v, a), strict=True):
        whole[:, some] = part[:, some]
    assert np.abs(found - ROBOT.inverse_dynamics(*full)[:, some]).max() < 1e-9


def test_what_is_beyond_a_limit_is_named_with_joint_time_value_and_limit():
    feed_forward = FeedForward(ROBOT, HOME)
    assert feed_forward.violations(JointMotion.of(NAMES, TIME, *wave(TIME))) == ()
    # Between two points at rest a cubic is fastest in the middle.
    q = np.array([HOME, HOME])
    q[1, 3] -= 0.5
    time = np.array([1.0, 1.0 + 0.7 / ROBOT.velocity_limits[3]])
    motion = JointMotion.of(NAMES, time, q, np.zeros((2, 7)))
    found = {one.quantity: one for one in feed_forward.violations(motion) if one.joint == NAMES[3]}
    fast = found['velocity']
    assert fast.time == pytest.approx(time.mean(), abs=0.01)
    assert fast.limit == -ROBOT.velocity_limits[3]
    assert fast.value == pytest.approx(-1.5 * 0.5 / (time[1] - time[0]), rel=0.01)
    assert str(fast).startswith(f'velocity of {NAMES[3]} is -')
    # A position beyond its range, in a point alone.
    far = np.array([HOME, HOME])
    far[1, 1] = ROBOT.upper_limits[1] + 0.1
    (position,) = feed_forward.violations(JointMotion.of(NAMES, [0.0, 10.0], far, np.zeros((2, 7))))
    assert (position.joint, position.quantity) == (NAMES[1], 'position')
    assert position.time == 10.0
    assert position.value == pytest.approx(ROBOT.upper_limits[1] + 0.1)
    assert position.limit == ROBOT.upper_limits[1]


@pytest.mark.parametrize(
    ('named', 'arguments'),
    [
        ('joint_names', ([], [0.0], [[]])),
        ('joint_names', (['a', 'a'], [0.0], [[0.0, 0.0]])),
        ('time_from_start', (['a'], [], [])),
        ('time_from_start', (['a'], [1.0, 1.0], [[0.0], [0.0]])),
        ('time_from_start', (['a'], [-1.0, 1.0], [[0.0], [0.0]])),
        ('time_from_start', (['a'], [0.0, np.nan], [[0.0], [0.0]])),
        ('positions', (['a'], [0.0, 1.0], [[0.0], [np.inf]])),
        ('positions', (['a', 'b'], [0.0], [[0.0]])),
        ('velocities', (['a'], [0.0], [[0.0]], [[0.0, 0.0]])),
        ('velocities', (['a'], [0.0], [[0.0]], None, [[0.0]])),
        ('accelerations', (['a'], [0.0], [[0.0]], [[0.0]], [[np.nan]])),
    ],
)
def test_bad_points_are_named(named, arguments):
    with pytest.raises(InvalidArgumentError, match=named):
        JointMotion.of(*arguments)
