# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What replaces faster ways that not every ROS has: the same answers by each of them."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from action_msgs.srv import CancelGoal
from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import PoseStamped, WrenchStamped
from lifecycle_msgs.srv import ChangeState, GetState
from numpy.testing import assert_allclose
from patience import PATIENCE
from rcl_interfaces.srv import GetParameters
from rclpy.action import ActionServer
from rclpy.duration import Duration
from rclpy.node import Node
from ros_harness import client, running
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from dynamics_ros.nodes import outputs, rclpy_private
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.lifecycle import ManagedNode
from dynamics_ros.nodes.rclpy_private import (
    bytes_publisher,
    given_parameters,
    log_for_callers_of,
    lost_messages,
    send_responses_by,
    take_waiting,
)
from dynamics_ros_msgs.action import IdentifyPayload
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeInverseDynamics

DOMAIN = 47

SCRIPT = """#!{python}
import sys

{patches}
from dynamics_ros.nodes.executables import composed

sys.exit(composed())
"""

PATCHES = {
    'executor': """
import sys
sys.modules['rclpy.experimental'] = None
""",
    'messages': """
import itertools
import sys
from dynamics_ros.wire import cdr
class Unknown(cdr.Layout):
    calls = itertools.count()
    def __init__(self, data, message):
        is_read = sys._getframe(1).f_code.co_name == 'read'  # not written, as an output
        if is_read and next(self.calls) % 2 == 0:
            raise cdr.LayoutError('encapsulation of another middleware')
        super().__init__(data, message)
cdr.Layout = Unknown
""",
    'rclpy': """
from dynamics_ros.nodes import rclpy_private
rclpy_private.bytes_publisher = lambda publisher: publisher.publish
rclpy_private.given_parameters = lambda node: {}
rclpy_private.take_waiting = lambda subscription, limit: []
rclpy_private.lost_messages = lambda subscription: None
rclpy_private.release_state_machine = lambda node: None
rclpy_private.log_for_callers_of = lambda file: False
rclpy_private.send_responses_by = lambda *_: False
""",
}
"""What a process does first, as if what is quicker were missing; private API before its users."""
PATCHES['all'] = ''.join(reversed(PATCHES.values()))

SAYS = {
    'executor': 'the events executor does not run here',
    'messages': 'JointState is read as message objects',
}
"""What a process logs that takes it; without private API of rclpy there is nothing to say."""


@pytest.mark.slow
@pytest.mark.parametrize('name', PATCHES)
def test_the_nodes_give_the_same_answers(name, tmp_path):
    script = tmp_path / 'dynamics_ros'
    script.write_text(SCRIPT.format(python=sys.executable, patches=PATCHES[name].strip()))
    script.chmod(0o755)
    parameters = {'robot_description': ARM, 'frames': ['tool0']}
    with running(str(script), DOMAIN, parameters) as process, client(DOMAIN) as user:
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
        known = name not in ('rclpy', 'all')
        assert values['joint_states lost on the way'] == ('0' if known else 'unknown')
        for fallback, text in SAYS.items():
            assert (text in process.printed) == (name in (fallback, 'all')), text


def test_private_api_of_rclpy_that_is_missing_is_done_without(monkeypatch):
    class Publisher:
        handle = SimpleNamespace(publish_raw='the quick one')
        publish = 'the public one'

    subscription = SimpleNamespace(handle=object())  # has no way to take a message
    assert bytes_publisher(Publisher()) == 'the quick one'
    Publisher.handle = object()
    assert bytes_publisher(Publisher()) == 'the public one'
    assert take_waiting(subscription, 10) == []
    assert given_parameters(object()) == {}
    monkeypatch.delattr(rclpy_private.rcutils_logger, '_internal_callers')
    assert not log_for_callers_of(__file__)
    monkeypatch.setattr(rclpy_private, '_rclpy', None)
    assert lost_messages(subscription) is None
    assert not send_responses_by(None)


@pytest.mark.parametrize(
    ('middleware', 'taken', 'expected'),
    [
        ('rmw_fastrtps_cpp', 0, 0),
        ('rmw_fastrtps_cpp', 3, 3),
        ('rmw_fastrtps_cpp', 18446744071562067991, None),  # a negative number, as seen
        ('rmw_cyclonedds_cpp', 0, None),  # it reports none though some are lost
        ('rmw_cyclonedds_cpp', 3, 3),
        ('rmw_zenoh_cpp', None, None),
        ('rmw_zenoh_cpp', RuntimeError('not supported'), None),
    ],
)
def test_losses_that_the_middleware_does_not_count_are_unknown(
    monkeypatch, middleware, taken, expected
):
    class Event(nullcontext):
        destroyed = 0

        def take_event(self):
            if isinstance(taken, Exception):
                raise taken
            return None if taken is None else SimpleNamespace(total_count=taken)

        def destroy_when_not_in_use(self):
            Event.destroyed += 1

    monkeypatch.setattr(rclpy_private._rclpy, 'EventHandle', lambda *_: Event())
    monkeypatch.setattr(rclpy_private, 'get_rmw_implementation_identifier', lambda: middleware)
    assert lost_messages(SimpleNamespace(handle=nullcontext())) == expected
    assert Event.destroyed == 1


def test_a_stop_has_time_to_arrive_where_the_middleware_acknowledges_nothing(monkeypatch):
    left = []
    monkeypatch.setattr(outputs.time, 'sleep', left.append)
    with client(DOMAIN) as ros:
        node = GuardedNode('stopping', context=ros.node.context)
        output = outputs.Output(node, PoseStamped, 'stop')
        output.wait_until_received()
        assert left == []
        with monkeypatch.context() as zenoh:
            zenoh.setattr(outputs, 'get_rmw_implementation_identifier', lambda: 'rmw_zenoh_cpp')
            output.wait_until_received()

        def refuse(_):
            raise rclpy_private.RCL_ERROR('not supported')

        monkeypatch.setattr(output._publisher, 'wait_for_all_acked', refuse)
        output.wait_until_received()
        node.destroy_node()
    assert left == [outputs.DELIVERY_TIMEOUT] * 2


@pytest.fixture
def senders(monkeypatch):
    """rclpy's methods that send responses are restored after the test."""
    for owner, method, *_ in rclpy_private._RESPONSES:
        kind = getattr(rclpy_private._rclpy, owner)
        monkeypatch.setattr(kind, method, getattr(kind, method))


@pytest.mark.usefixtures('senders')
def test_every_response_of_a_commanding_node_is_sent_in_another_thread():
    """Those of parameters, of the lifecycle and of actions too, which rclpy itself serves."""

    async def execute(handle):
        handle.succeed()
        return IdentifyPayload.Result()

    sent = []
    with ThreadPoolExecutor(1) as threads, client(DOMAIN, 'caller') as caller:
        assert send_responses_by(lambda send: sent.append(threads.submit(send)))
        node = ManagedNode('commanding', context=caller.node.context)
        action = ActionServer(node, IdentifyPayload, '~/act', execute)
        caller._executor.add_node(node)
        asked = {one.srv_name: one.srv_type for one in node.services}
        assert {GetParameters, GetState, ChangeState} <= set(asked.values())
        for name, kind in (
            ('send_goal', IdentifyPayload.Impl.SendGoalService),
            ('cancel_goal', CancelGoal),
            ('get_result', IdentifyPayload.Impl.GetResultService),
        ):
            asked[f'/commanding/act/_action/{name}'] = kind
        for name, kind in asked.items():
            before = len(sent)
            caller.call(kind, name)
            assert len(sent) > before, name
        caller._executor.remove_node(node)
        action.destroy()
        node.destroy_node()
    assert {one.result() for one in sent} == {None}


@pytest.mark.usefixtures('senders')
def test_clients_that_have_left_stop_no_thread():
    """The middleware waits 0.1 s for each of them, in the threads that send responses alone."""
    count, sent = 10, []
    with ThreadPoolExecutor(count) as threads, client(DOMAIN, 'server') as server:
        lost = []
        assert send_responses_by(
            lambda send: sent.append(threads.submit(send)), lambda: lost.append(None)
        )
        answered = []

        def answer(request, response):
            answered.append(time.monotonic())
            response.message = f'answer {request.data}'
            return response

        server.node.create_service(SetBool, 'answer', answer)
        server.listen(PoseStamped, 'after_requests')
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=DOMAIN)
        leaving = Node('leaving', context=context)
        clients = [leaving.create_client(SetBool, 'answer') for _ in range(count)]
        assert all(one.wait_for_service(PATIENCE) for one in clients)
        after = leaving.create_publisher(PoseStamped, 'after_requests', 10)
        while not after.get_subscription_count():
            time.sleep(0.01)
        for one in clients:
            one.call_async(SetBool.Request())
        # The server's middleware acknowledges it after the requests, before a node takes them.
        after.publish(PoseStamped())
        assert after.wait_for_all_acked(Duration(seconds=PATIENCE))
        leaving.destroy_node()
        rclpy.shutdown(context=context)
        while server.node.count_clients('answer'):
            time.sleep(0.01)
        server.wait_for(lambda: len(answered) == count)
        # A busy machine may hold up some of them.
        assert np.median(np.diff(answered)) < 0.05
        assert server.call(SetBool, 'answer', SetBool.Request(data=True)).message == 'answer True'
    assert [one.result() for one in sent] == [None] * (count + 1)
    # Those that the middleware already knows to have left are none that it drops.
    assert len(lost) <= count
