# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What replaces faster ways that not every ROS has, forced: the same answers by each of them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.testing import assert_allclose
from ros_harness import client, description, running
from sensor_msgs.msg import JointState

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.rclpy_private import (
    bytes_publisher,
    given_parameters,
    log_for_callers_of,
    lost_messages,
    take_waiting,
)
from dynamics_ros.wire import fallbacks
from dynamics_ros.wire.bytes_template import BytesTemplate, LayoutError
from dynamics_ros.wire.fallbacks import VARIABLE, Fallback, forced
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeInverseDynamics

DOMAIN = 47

ROBOT = Robot.from_urdf(description())
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
STILL = np.zeros(7)

SAYS = {
    Fallback.EXECUTOR: 'the events executor does not run here',
    Fallback.MESSAGES: 'joint states are read as message objects',
}
"""What a process logs that takes it; without private API of rclpy there is nothing to say."""


@pytest.mark.slow
@pytest.mark.parametrize('names', [*(fallback.value for fallback in Fallback), fallbacks.ALL])
def test_the_nodes_give_the_same_answers(names, monkeypatch):
    monkeypatch.setenv(VARIABLE, names)
    parameters = {'robot_description': description(), 'frames': ['tool0']}
    with running('dynamics_ros', DOMAIN, parameters) as process, client(DOMAIN) as user:
        poses = user.listen(PoseStamped, '/kinematics_node/tool0/pose')
        torques = user.listen(JointState, '/dynamics_node/gravity_torques')
        wrenches = user.listen(WrenchStamped, '/contact_node/tool0/wrench')

        def state():
            return user.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q))

        user.wait_for(
            lambda: poses and torques and wrenches,
            meanwhile=lambda: user.publish_joint_state(state()),
        )
        for _ in range(3):  # the first goes the ordinary way, the others may go a shorter one
            asked = state()
            assert_allclose(user.exchange(asked, torques).effort, ROBOT.gravity(Q), atol=1e-9)
            place = user.exchange(asked, poses).pose.position
            expected = ROBOT.forward_kinematics(Q, 'tool0')[:3, 3]
            assert_allclose([place.x, place.y, place.z], expected, atol=1e-12)
            force = user.exchange(asked, wrenches).wrench.force
            assert_allclose([force.x, force.y, force.z], 0.0, atol=1e-3)

        request = ComputeInverseDynamics.Request()
        request.state = JointState(name=NAMES, position=list(Q), velocity=list(STILL + 0.1))
        request.accelerations = list(STILL + 0.2)
        expected = ROBOT.inverse_dynamics(Q, STILL + 0.1, STILL + 0.2)
        for _ in range(3):
            answer = user.call(
                ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics', request
            )
            assert answer.result.code == Result.SUCCESS, answer.result.message
            assert_allclose(answer.torques.effort, expected, atol=1e-9)

        values = user.wait_for_report('dynamics_node')
        assert values['joint_states lost on the way'] == '0'
        for fallback, text in SAYS.items():
            assert (text in process.printed) == (names in (fallback.value, fallbacks.ALL)), text


class TestTheSwitch:
    def test_forces_nothing_by_default(self, monkeypatch):
        monkeypatch.delenv(VARIABLE, raising=False)
        assert not any(map(forced, Fallback))

    def test_takes_several_names(self, monkeypatch):
        monkeypatch.setenv(VARIABLE, 'rclpy, messages')
        assert {f for f in Fallback if forced(f)} == {Fallback.RCLPY, Fallback.MESSAGES}

    def test_refuses_a_name_that_there_is_not(self, monkeypatch):
        monkeypatch.setenv(VARIABLE, 'byts')
        with pytest.raises(InvalidArgumentError, match="'byts'; expected of executor, messages"):
            fallbacks.check()
        with running('dynamics_node', DOMAIN) as process:
            assert process.wait() == 1
            assert 'cannot start: DYNAMICS_ROS_FALLBACKS' in process.printed
            assert 'Traceback' not in process.printed

    def test_reaches_the_templates_and_the_event(self, monkeypatch):
        monkeypatch.setenv(VARIABLE, fallbacks.ALL)
        with pytest.raises(LayoutError):
            BytesTemplate(JointState(), ())
        assert lost_messages(None) == 0  # not even looked at

    def test_reaches_all_that_is_private_in_rclpy(self, monkeypatch):
        class Publisher:
            handle = type('Handle', (), {'publish_raw': 'the quick one'})
            publish = 'the public one'

        class Subscription:
            handle = object()  # has no way to take a message

        assert bytes_publisher(Publisher()) == 'the quick one'
        assert take_waiting(Subscription(), 10) == []
        monkeypatch.setenv(VARIABLE, Fallback.RCLPY.value)
        assert bytes_publisher(Publisher()) == 'the public one'
        assert not log_for_callers_of(__file__)
        assert given_parameters(object()) == {}
