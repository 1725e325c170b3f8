# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""identify_payload of dynamics_node: goals, feedback, results, cancelling, and what is refused."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

pytest.importorskip('rclpy')

from action_msgs.msg import GoalStatus
from arm import ARM, NAMES, ROBOT
from rclpy.action import ActionClient
from ros_harness import LATCHED, client, result_of, running, send_goal
from sensor_msgs.msg import JointState

from dynamics_ros.estimation import EffortModel
from dynamics_ros_msgs.action import IdentifyPayload
from dynamics_ros_msgs.msg import Payload, Result
from dynamics_ros_msgs.srv import SetGravity

pytestmark = pytest.mark.ros

DOMAIN = 90

FRAME = ROBOT.body_names[-1]
MASS, CENTER = 1.0, np.array([0.03, 0.02, 0.035])
LOADED = ROBOT.with_payload(FRAME, MASS, CENTER)
# What the node takes for granted: the friction of the description.
FRICTION = EffortModel.from_robot(ROBOT)
PERIOD = 0.004
"""s between two stamps; the test sends them as fast as it can."""


@pytest.fixture(scope='module')
def ros():
    with (
        running('dynamics_node', DOMAIN, {'robot_description': ARM}),
        client(DOMAIN) as one,
    ):
        yield one


@pytest.fixture(scope='module')
def actions(ros):
    found = ActionClient(ros.node, IdentifyPayload, '/dynamics_node/identify_payload')
    states = motion(ros)
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.wait_for(lambda: found.server_is_ready() and torques, meanwhile=lambda: next(states))
    return found


def motion(ros):
    """Publishes one state after another of a robot that swings and holds the payload."""
    w = np.linspace(1.0, 2.5, ROBOT.nv)
    for k in itertools.count():
        t = k * PERIOD
        q, v, a = 0.5 * np.sin(w * t), 0.5 * w * np.cos(w * t), -0.5 * w**2 * np.sin(w * t)
        tau = LOADED.inverse_dynamics(q, v, a) + FRICTION.friction_torque(v)
        ros.publish_joint_state(ros.joint_state(NAMES, q, v, tau, step=PERIOD))
        yield


accepted = partial(send_goal, IdentifyPayload)


def set_gravity(ros, z):
    request = SetGravity.Request()
    request.gravity.vector.z = z
    assert ros.call(SetGravity, '/dynamics_node/set_gravity', request).result.code == Result.SUCCESS


def test_what_the_robot_holds_is_found_and_put_in_force(ros, actions):
    payloads = ros.listen(Payload, '/payload', LATCHED)
    states = motion(ros)
    handle = accepted(ros, actions, states, frame=FRAME, duration=2.5, apply=True)
    answer = result_of(ros, handle, states)
    assert answer.status == GoalStatus.STATUS_SUCCEEDED
    found = answer.result
    assert found.result.code == Result.SUCCESS
    assert found.payload.header.frame_id == FRAME
    # Accelerations are differences over two periods; the motion is slow against that.
    assert found.payload.inertia.m == pytest.approx(MASS, rel=0.01)
    com = found.payload.inertia.com
    np.testing.assert_allclose([com.x, com.y, com.z], CENTER, atol=0.002)
    assert found.mass_observable
    assert all(found.com_observable)
    assert found.samples > 100
    ros.wait_for(lambda: payloads and payloads[-1].inertia.m == found.payload.inertia.m)


def test_while_it_watches_it_tells_what_it_has_found_so_far(ros, actions):
    states, feedback = motion(ros), []
    handle = accepted(ros, actions, states, feedback, frame=FRAME, duration=60.0)

    def found():
        last = feedback[-1] if feedback else None
        return last and last.samples > 100 and last.mass == pytest.approx(MASS, rel=0.05)

    ros.wait_for(found, meanwhile=lambda: next(states), period=0.001)
    handle.cancel_goal_async()
    assert result_of(ros, handle, states).status == GoalStatus.STATUS_CANCELED


@pytest.mark.parametrize(
    ('goal', 'code', 'text'),
    [
        ({'frame': 'nose'}, Result.UNKNOWN_FRAME, 'nose'),
        ({'frame': ROBOT.root_frame}, Result.INVALID_ARGUMENT, 'no joint feels'),
        ({'duration': -1.0}, Result.INVALID_ARGUMENT, 'duration'),
        ({'duration': np.nan}, Result.INVALID_ARGUMENT, 'duration'),
        ({'duration': 1e6}, Result.INVALID_ARGUMENT, 'duration'),
    ],
)
def test_a_goal_that_cannot_be_is_aborted_with_its_reason(ros, actions, goal, code, text):
    states = motion(ros)
    answer = result_of(ros, accepted(ros, actions, states, **goal), states)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert answer.result.result.code == code
    assert text in answer.result.result.message


def test_another_payload_or_gravity_ends_a_goal_and_the_outputs_go_on(ros, actions):
    states = motion(ros)
    handle = accepted(ros, actions, states, duration=60.0)
    set_gravity(ros, -9.8)
    answer = result_of(ros, handle, states)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert 'changed during the watch' in answer.result.result.message
    set_gravity(ros, -9.81)


def test_without_joint_states_it_ends_and_says_so(ros, actions):
    nothing = itertools.repeat(None)
    answer = result_of(ros, accepted(ros, actions, nothing, duration=0.5), nothing)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert 'samples make no window' in answer.result.result.message
