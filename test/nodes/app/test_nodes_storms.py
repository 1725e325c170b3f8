# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What outsiders can do a thousand times: the nodes answer each time, and go on as before."""

from __future__ import annotations

import math
import time

import pytest

pytest.importorskip('rclpy')

import rclpy
from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import PoseStamped
from numpy.testing import assert_allclose
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from ros_harness import client, running, stamp_of
from sensor_msgs.msg import JointState

from dynamics_ros.wire.conversions import pose_matrix
from dynamics_ros_msgs.msg import ContactState, Result
from dynamics_ros_msgs.srv import (
    ComputeDynamicsTerms,
    ComputeForwardDynamics,
    ComputeForwardKinematics,
    ComputeInverseDynamics,
    ComputeInverseKinematics,
    ComputeJacobian,
    SetGravity,
    SetPayload,
)

pytestmark = pytest.mark.ros

DOMAIN = 89
SAME = 1e-12

CALLS = 1000
AT_ONCE = 5
"""Calls under way: a client that has more than its queue is deep loses some."""

LEAVING = 40
"""Clients that leave at once, between request and response."""


@pytest.fixture(scope='module')
def ros():
    with client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def node(ros):
    with running('dynamics_ros', DOMAIN, {'robot_description': ARM}) as process:
        yield process


@pytest.fixture
def torques(ros, node):
    """Gravity torques of a node that publishes them rightly, before and after the test."""
    received = ros.listen(JointState, '/dynamics_node/gravity_torques')
    expect_right(ros, received)
    yield received
    expect_right(ros, received)
    assert node.alive
    assert 'Traceback' not in node.printed and 'callback raised' not in node.printed


def at(ros, q=Q, step: float = 0.001) -> JointState:
    return ros.joint_state(NAMES, q, STILL, ROBOT.gravity(q), step=step)


def expect_right(ros, received) -> None:
    answer = ros.exchange(at(ros), received)
    assert answer.name == NAMES
    assert_allclose(answer.effort, ROBOT.gravity(Q), atol=SAME)


def bad_requests():
    """One of each kind of nonsense for each service."""
    nobody = JointState(name=['nobody'], position=[0.0])
    short = JointState(name=NAMES, position=[0.0])
    nan = JointState(name=NAMES, position=[math.nan] * 7)
    twice = JointState(name=[NAMES[0]] * 2, position=[0.0, 0.0])
    states = (nobody, short, nan, twice)
    for kind, name, field in (
        (ComputeForwardKinematics, '/kinematics_node/compute_forward_kinematics', 'state'),
        (ComputeJacobian, '/kinematics_node/compute_jacobian', 'state'),
        (ComputeInverseKinematics, '/kinematics_node/compute_inverse_kinematics', 'seed'),
        (ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics', 'state'),
        (ComputeForwardDynamics, '/dynamics_node/compute_forward_dynamics', 'state'),
        (ComputeDynamicsTerms, '/dynamics_node/compute_dynamics_terms', 'state'),
    ):
        for state in states:
            yield kind, name, kind.Request(**{field: state})
    fast = JointState(name=NAMES, position=[0.1] * 7, velocity=[1e300] * 7)  # its square overflows
    for kind, name in (
        (ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics'),
        (ComputeForwardDynamics, '/dynamics_node/compute_forward_dynamics'),
        (ComputeDynamicsTerms, '/dynamics_node/compute_dynamics_terms'),
    ):
        yield kind, name, kind.Request(state=fast)
    payload = SetPayload.Request()
    payload.payload.inertia.m = math.nan
    yield SetPayload, '/dynamics_node/set_payload', payload
    gravity = SetGravity.Request()
    gravity.gravity.vector.x = math.inf
    yield SetGravity, '/dynamics_node/set_gravity', gravity


def test_a_thousand_bad_calls_get_a_thousand_reasons(ros, torques):
    kinds = list(bad_requests())
    for kind, name, request in kinds:  # one each, with what the harness does for discovery
        assert ros.call(kind, name, request).result.code <= Result.FAILURE
    answers = []
    for i in range(CALLS):
        _, name, request = kinds[i % len(kinds)]
        future = ros.ask(name, request)
        ros.wait_for(future.done)
        answers.append(future.result().result)
    assert all(answer.code < Result.FAILURE and answer.message for answer in answers)


def test_a_name_of_a_megabyte_is_not_answered_with_another_one(ros, torques):
    endless = 'x' * 10**6
    service = '/kinematics_node/compute_jacobian'
    for request in (
        ComputeJacobian.Request(state=at(ros), frame=endless),
        ComputeJacobian.Request(state=at(ros), frame='tool0', reference=endless),
        ComputeJacobian.Request(state=JointState(name=[endless], position=[0.0]), frame='tool0'),
    ):
        result = ros.call(ComputeJacobian, service, request).result
        assert result.code < Result.FAILURE
        assert 'xxx ... xxx' in result.message
        assert 'expected one of' in result.message
        assert len(result.message) < 2000


def test_a_storm_of_parameters_ends_with_the_last_value_in_force(ros, torques):
    name = '/kinematics_node/set_parameters'
    request = SetParameters.Request()
    request.parameters = [Parameter('publish_rate', value=1.0).to_parameter_msg()]
    assert ros.call(SetParameters, name, request).results[0].successful
    futures = []
    for i in range(CALLS):
        # Every third is out of range; every tenth asks for another frame, every other of which
        # the robot does not have.
        value = -1.0 if i % 3 == 0 else float(i)
        frame = 'nowhere' if i % 20 else ROBOT.frame_names[1 + i // 20 % 3]
        changed = [Parameter('publish_rate', value=value)]
        if i % 10 == 0:
            changed.append(Parameter('frames', value=[frame]))
        request = SetParameters.Request()
        request.parameters = [one.to_parameter_msg() for one in changed]
        futures.append(ros.ask(name, request))
        if i % AT_ONCE == AT_ONCE - 1:
            ros.wait_for(
                lambda: all(future.done() for future in futures),
                meanwhile=lambda: ros.publish_joint_state(at(ros)),
            )
    results = [future.result().results[0].successful for future in futures]
    assert not any(results[::3])
    assert all(ok for i, ok in enumerate(results) if i % 3)
    frame = ROBOT.frame_names[4]  # in force at no time before
    assert ros.set_parameter('kinematics_node', 'frames', [frame]).successful
    assert ros.set_parameter('kinematics_node', 'publish_rate', 0.0).successful
    poses = ros.listen(PoseStamped, f'/kinematics_node/{frame}/pose')
    pose = ros.exchange(at(ros), poses).pose
    expected = ROBOT.forward_kinematics(Q, frame)
    assert_allclose(pose_matrix(pose, 'pose'), expected, atol=SAME)
    others = [f'/kinematics_node/{name}/pose' for name in set(ROBOT.frame_names) - {frame}]
    ros.wait_for(lambda: not any(map(ros.node.count_publishers, others)))


def test_clients_that_leave_before_their_response_delay_neither_states_nor_others(ros, torques):
    """The middleware waits 0.1 s for each, without the mend 7 s and more in one of these rounds."""
    kind, name = ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics'
    seconds = 0.0
    for _ in range(5):
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=DOMAIN)
        node = Node('leaving', context=context)
        clients = [node.create_client(kind, name) for _ in range(LEAVING)]
        # Services that rclpy makes are asked too.
        clients += [node.create_client(GetParameters, '/dynamics_node/get_parameters')]
        assert all(one.wait_for_service(20.0) for one in clients)
        for one in clients:
            one.call_async(one.srv_type.Request())
        node.destroy_node()
        rclpy.shutdown(context=context)
        start = time.monotonic()
        expect_right(ros, torques)
        ros.call(kind, name)
        seconds += time.monotonic() - start
    assert seconds < 3.0


def test_a_publisher_that_dies_and_returns_is_taken_up_again(ros, torques):
    for _ in range(3):
        publisher = ros._publishers.pop('/joint_states')
        ros.node.destroy_publisher(publisher)
        ros.wait_for_status('dynamics_node', 'joint_states have stopped coming')
        expect_right(ros, torques)
        ros.wait_for_status(
            'dynamics_node', 'publishing', meanwhile=lambda: ros.publish_joint_state(at(ros))
        )


def test_two_publishers_of_the_same_joints_each_get_their_own_answer(ros, torques):
    other = Q[::-1].copy()
    expected = [ROBOT.gravity(Q), ROBOT.gravity(other)]
    sent = {}
    reverse = list(reversed(NAMES))

    def send():
        first = at(ros)
        second = ros.joint_state(reverse, other[::-1], STILL, STILL)
        for i, message in enumerate((first, second)):
            sent[message.header.stamp.sec, message.header.stamp.nanosec] = i
            ros.publish_joint_state(message)

    before = len(torques)
    ros.wait_for(lambda: len(torques) > before + 200, meanwhile=send, period=0.002)
    seen = set()
    for torque in torques[before:]:
        i = sent.get((torque.header.stamp.sec, torque.header.stamp.nanosec))
        if i is not None:
            seen.add(i)
            assert_allclose(torque.effort, expected[i], atol=SAME)
    assert seen == {0, 1}


def test_stamps_that_jump_back_and_forward_are_answered_and_no_contact_is_made_of_them(
    ros, torques
):
    states = ros.listen(ContactState, '/contact_node/contact_state')
    now = ros._stamp
    # What came before may have felt like a contact.
    ros.wait_for(
        lambda: len(states) > 10 and states[-1].state == ContactState.NONE,
        meanwhile=lambda: ros.publish_joint_state(at(ros)),
        period=0.005,
    )
    states.clear()
    for jump in (-500, 0, 700, 10**5, -(10**6)):  # seconds; a bag loops, a clock is set
        message = at(ros)
        message.header.stamp = stamp_of(now + 10**9 * max(jump, -now // 10**9 + 1))
        answer = ros.exchange(message, torques)
        assert_allclose(answer.effort, ROBOT.gravity(Q), atol=SAME)
    count = len(states)
    ros.wait_for(
        lambda: len(states) > count + 10,
        meanwhile=lambda: ros.publish_joint_state(at(ros)),
        period=0.005,
    )
    assert all(state.state == ContactState.NONE for state in states)
