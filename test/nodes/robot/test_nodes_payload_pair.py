# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""identify_payload subtracts a run without the payload: of a heavier robot with more friction."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from ros_harness import client, description, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros.identification.bodies.pseudo_inertia import described
from dynamics_ros.spatial import Inertia
from dynamics_ros_msgs.action import IdentifyPayload
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import SetGravity, SetPayload

pytestmark = pytest.mark.ros

DOMAIN = 176

ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
FRAME = ROBOT.body_names[-1]
MASS, CENTER = 1.0, np.array([0.03, 0.02, 0.035])
HEAVIER = tuple(Inertia.from_array(body) for body in 1.1 * described(ROBOT))
REAL = Robot(replace(ROBOT.model, inertias=HEAVIER))
COULOMB = np.array([2.0, 3.0, 1.5, 1.5, 0.8, 0.6, 0.4])
"""Friction beyond the description [Nm]."""

PERIOD, SECONDS = 0.01, 20.0
"""s between two stamps, which the test sends as fast as it can; duration of a run [s]."""


@pytest.fixture(scope='module')
def ros():
    with (
        running('dynamics_node', DOMAIN, {'robot_description': description()}),
        client(DOMAIN) as one,
    ):
        yield one


@pytest.fixture(scope='module')
def actions(ros):
    found = ActionClient(ros.node, IdentifyPayload, '/dynamics_node/identify_payload')
    states = motion(ros, REAL)
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.wait_for(lambda: found.server_is_ready() and torques, meanwhile=lambda: next(states))
    return found


def motion(ros, robot, seed=0):
    """Publish one state after another of a robot whose joints swing, all at other frequencies."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.8, 2.5, (3, ROBOT.nv))
    phase = rng.uniform(0.0, 2.0 * np.pi, w.shape)
    for k in itertools.count():
        angle = w * k * PERIOD + phase
        q = 0.25 * np.sin(angle).sum(axis=0)
        v, a = 0.25 * (w * np.cos(angle)).sum(axis=0), -0.25 * (w**2 * np.sin(angle)).sum(axis=0)
        tau = robot.inverse_dynamics(q, v, a) + COULOMB * np.tanh(v / 0.02)
        tau += 0.02 * rng.normal(size=ROBOT.nv)
        ros.publish_joint_state(ros.joint_state(NAMES, q, v, tau, step=PERIOD))
        yield


def result_of(ros, actions, states, feedback=None, **goal):
    sent = actions.send_goal_async(
        IdentifyPayload.Goal(frame=FRAME, **goal),
        feedback_callback=None if feedback is None else lambda m: feedback.append(m.feedback),
    )
    ros.wait_for(sent.done, meanwhile=lambda: next(states), period=0.001)
    got = sent.result().get_result_async()
    ros.wait_for(got.done, meanwhile=lambda: next(states), period=0.001)
    return got.result()


def loaded(ros, seed=1):
    return motion(ros, REAL.with_payload(FRAME, MASS, CENTER), seed)


def test_an_empty_run_makes_the_payload_exact(ros, actions):
    alone = result_of(ros, actions, loaded(ros), duration=3.0).result
    assert alone.result.code == Result.SUCCESS
    assert not alone.empty_run_used
    assert abs(alone.payload.inertia.m - MASS) > 0.1 * MASS

    empty = result_of(ros, actions, motion(ros, REAL), duration=SECONDS, empty=True).result
    assert empty.result.code == Result.SUCCESS, empty.result.message
    assert empty.payload.inertia.m == 0.0
    assert empty.samples > 0.9 * SECONDS / PERIOD

    feedback = []
    found = result_of(ros, actions, loaded(ros), feedback, duration=SECONDS).result
    assert found.result.code == Result.SUCCESS, found.result.message
    assert found.empty_run_used
    assert found.payload.inertia.m == pytest.approx(MASS, rel=0.02)
    assert abs(found.payload.inertia.m - MASS) < 4.0 * found.mass_deviation
    com = found.payload.inertia.com
    np.testing.assert_allclose([com.x, com.y, com.z], CENTER, atol=0.005)
    assert found.mass_observable
    assert all(np.isnan(one.mass) for one in feedback)


def test_a_payload_that_is_set_does_not_end_the_empty_run(ros, actions):
    """It runs after the empty run."""
    request = SetPayload.Request()
    request.payload.header.frame_id = FRAME
    request.payload.inertia.m = 2.0
    assert ros.call(SetPayload, '/dynamics_node/set_payload', request).result.code == Result.SUCCESS
    found = result_of(ros, actions, loaded(ros, 2), duration=SECONDS, apply=True).result
    assert found.empty_run_used
    assert found.payload.inertia.m == pytest.approx(MASS, rel=0.02)
    assert ros.get_parameter('dynamics_node', 'payload.mass') == found.payload.inertia.m


def test_runs_that_are_swapped_are_refused(ros, actions):
    assert result_of(ros, actions, loaded(ros), duration=SECONDS, empty=True).status == (
        GoalStatus.STATUS_SUCCEEDED
    )
    answer = result_of(ros, actions, motion(ros, REAL), duration=SECONDS)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert 'carries 1.0' in answer.result.result.message
    assert 'repeat both runs' in answer.result.result.message


def test_another_gravity_forgets_the_empty_run(ros, actions):
    request = SetGravity.Request()
    request.gravity.vector.z = -9.8
    assert ros.call(SetGravity, '/dynamics_node/set_gravity', request).result.code == Result.SUCCESS
    found = result_of(ros, actions, loaded(ros), duration=2.0).result
    assert found.result.code == Result.SUCCESS
    assert not found.empty_run_used


@pytest.mark.parametrize(
    ('goal', 'joints', 'text'),
    [
        ({'apply': True}, ROBOT.nv, 'apply'),
        ({'duration': 3.0}, 0, 'moves'),
        ({'duration': 0.5}, ROBOT.nv, 'too short'),
    ],
)
def test_an_empty_run_that_tells_nothing_is_refused(ros, actions, goal, joints, text):
    states = motion(ros, REAL) if joints else still(ros)
    answer = result_of(ros, actions, states, empty=True, **goal)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert text in answer.result.result.message


def still(ros):
    while True:
        q = np.full(ROBOT.nv, 0.3)
        tau = REAL.gravity(q)
        ros.publish_joint_state(ros.joint_state(NAMES, q, 0.0 * q, tau, step=PERIOD))
        yield
