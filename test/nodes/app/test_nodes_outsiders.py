# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What outsiders can do a thousand times: each is answered with a reason, and the nodes go on."""

from __future__ import annotations

import os
import random
import re
import time
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

import rclpy
from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import PoseStamped
from numpy.testing import assert_allclose
from patience import PATIENCE, times
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter as Setting
from ros_harness import running
from sensor_msgs.msg import JointState

from dynamics_ros.wire.conversions import pose_matrix
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import (
    ComputeForwardKinematics,
    ComputeInverseDynamics,
    ComputeInverseKinematics,
    SetPayload,
)

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 104

ERRORS = 1100
"""More than a process used to survive."""

AT_ONCE = 10
"""As many responses as a client keeps."""

MAX_SECONDS = 6.0
"""Processor time for a request of 100,000 parameters; its objects take 2 s of that."""

STORM = 300
"""Calls that change parameters."""

LEAVING = 40
"""Clients that leave at once, between request and response."""

HUGE = 'x' * (2 << 20)


@pytest.fixture(scope='module')
def node(ros):
    # However long a busy machine takes for a request.
    given = {'robot_description': ARM, 'state_timeout': 0.0}
    with running('dynamics_ros', DOMAIN, given) as process:
        yield process


@pytest.fixture
def torques(ros, node):
    """Gravity torques that are right, before and after the test; no node ends, or logs a fault."""
    received = ros.listen(JointState, '/dynamics_node/gravity_torques')
    expect_right(ros, received)
    yield received
    expect_right(ros, received)
    assert node.alive
    assert 'Traceback' not in node.printed and 'unexpected' not in node.printed


def at(ros) -> JointState:
    return ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q))


def expect_right(ros, received) -> None:
    answer = ros.exchange(at(ros), received)
    assert_allclose(answer.effort, ROBOT.gravity(Q), atol=1e-12)


def processor_time(process) -> float:
    """Seconds that the threads of a process have run."""
    fields = Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def of_type(kind: int, name: str = 'publish_rate') -> Parameter:
    return Parameter(name=name, value=ParameterValue(type=kind, double_value=1.0))


def test_values_of_no_type_are_refused_with_a_reason_however_many(ros, torques):
    services = {
        '/dynamics_node/set_parameters': SetParameters,
        '/kinematics_node/set_parameters_atomically': SetParametersAtomically,
    }
    for name, kind in services.items():
        ros.call(kind, name)
    for begin in range(0, ERRORS, AT_ONCE):
        name, kind = list(services.items())[begin // AT_ONCE % 2]
        futures = []
        for i in range(begin, begin + AT_ONCE):
            request = kind.Request(parameters=[of_type(10 + i % 246)])
            futures.append((i, ros.ask(name, request)))
        ros.wait_for(lambda futures=futures: all(future.done() for _, future in futures))
        for i, future in futures:
            response = future.result()
            result = response.results[0] if kind is SetParameters else response.result
            assert not result.successful
            assert f'its value has the type {10 + i % 246}; expected one of' in result.reason
    before = ros.get_parameter('dynamics_node', 'publish_rate')
    request = SetParameters.Request(parameters=[of_type(3), of_type(200)])
    answer = ros.call(SetParameters, '/dynamics_node/set_parameters', request)
    assert not any(result.successful for result in answer.results)
    assert ros.get_parameter('dynamics_node', 'publish_rate') == before


@pytest.mark.parametrize('kind', [SetParameters, GetParameters])
def test_a_hundred_thousand_entries_are_refused_and_outputs_go_on(ros, node, torques, kind):
    setting = kind is SetParameters
    service = f'/dynamics_node/{"set" if setting else "get"}_parameters'
    ros.call(kind, service)
    entries = {'parameters': [of_type(3)]} if setting else {'names': ['publish_rate']}
    request = kind.Request(**{name: some * 100_000 for name, some in entries.items()})
    before = processor_time(node)
    future = ros.ask(service, request)
    expect_right(ros, torques)
    ros.wait_for(future.done)
    # rclpy makes objects of the request before anybody can refuse it; nothing else is done.
    assert processor_time(node) - before < MAX_SECONDS
    if setting:
        (result,) = future.result().results
        assert not result.successful
        assert result.reason == 'request: 100000 entries; expected at most 1000'
    else:
        assert not future.result().values


def test_services_of_every_node_answer_two_megabytes(ros, torques):
    payload = SetPayload.Request()
    payload.payload.header.frame_id, payload.payload.inertia.m = HUGE, 1.0
    for kind, name, request in (
        (
            ComputeForwardKinematics,
            '/kinematics_node/compute_forward_kinematics',
            ComputeForwardKinematics.Request(frames=['tool0'] * (1 << 19)),
        ),
        (
            ComputeInverseKinematics,
            '/kinematics_node/compute_inverse_kinematics',
            ComputeInverseKinematics.Request(frame=HUGE),
        ),
        (SetPayload, '/dynamics_node/set_payload', payload),
    ):
        result = ros.call(kind, name, request).result
        assert result.code in (Result.INVALID_ARGUMENT, Result.UNKNOWN_FRAME)
        assert len(result.message) < 2000


def test_a_storm_of_parameters_ends_with_the_last_value_in_force(ros, torques):
    name = '/kinematics_node/set_parameters'
    assert ros.set_parameter('kinematics_node', 'publish_rate', 1.0).successful
    futures = []
    for i in range(STORM):
        # Every third is out of range; every tenth asks for another frame, every other of which
        # the robot does not have.
        frame = 'nowhere' if i % 20 else ROBOT.frame_names[1 + i // 20 % 3]
        changed = [Setting('publish_rate', value=-1.0 if i % 3 == 0 else float(i))]
        if i % 10 == 0:
            changed.append(Setting('frames', value=[frame]))
        request = SetParameters.Request(parameters=[one.to_parameter_msg() for one in changed])
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
    assert_allclose(pose_matrix(pose, 'pose'), ROBOT.forward_kinematics(Q, frame), atol=1e-9)
    others = [f'/kinematics_node/{name}/pose' for name in set(ROBOT.frame_names) - {frame}]
    ros.wait_for(lambda: not any(map(ros.node.count_publishers, others)))


def test_clients_that_leave_before_their_response_delay_neither_states_nor_others(ros, torques):
    """The middleware waits 0.1 s for each, without the mend 7 s and more in one of these rounds."""
    kind, name = ComputeInverseDynamics, '/dynamics_node/compute_inverse_dynamics'

    def answer_time() -> float:
        start = time.monotonic()
        expect_right(ros, torques)
        ros.call(kind, name)
        return time.monotonic() - start

    usual, seconds = sum(answer_time() for _ in range(3)), 0.0
    for _ in range(3):
        context = rclpy.Context()
        rclpy.init(context=context, domain_id=DOMAIN)
        node = Node('leaving', context=context)
        clients = [node.create_client(kind, name) for _ in range(LEAVING)]
        # Services that rclpy makes are asked too.
        clients += [node.create_client(GetParameters, '/dynamics_node/get_parameters')]
        assert all(one.wait_for_service(PATIENCE) for one in clients)
        for one in clients:
            one.call_async(one.srv_type.Request())
        node.destroy_node()
        rclpy.shutdown(context=context)
        seconds += answer_time()
    assert seconds < 4.0 + 3.0 * usual


NODES = ('kinematics_node', 'dynamics_node', 'contact_node')

FLOATS = (0.0, 1.0, -1.0, 1e-320, 1e308, -1e308, float('nan'), float('inf'), -float('inf'))
TEXTS = ('', 'tool0', ROBOT.joint_names[0], 'nobody', 'a' * 10_000, '../..', '{}', '%s', 'ü', '\n')
LENGTHS = (0, 1, 6, 7, 8, 1000)
DURATION = 'builtin_interfaces/Duration'


def kind_of(name):
    """Class of a message or service, such as package/srv/Name or package/Name."""
    package, *_, kind = name.split('/')
    return getattr(import_module(f'{package}.{"srv" if "/srv/" in name else "msg"}'), kind)


def value_of(chance, kind):
    """A random value of a type of a field."""
    sequence = re.fullmatch(r'sequence<(.+?)(?:, \d+)?>', kind)
    if sequence:
        # Long ones of messages would only take time.
        lengths = LENGTHS if '/' not in sequence[1] else LENGTHS[:3]
        return [value_of(chance, sequence[1]) for _ in range(chance.choice(lengths))]
    array = re.fullmatch(r'(.+)\[(\d+)\]', kind)
    if array:
        return [value_of(chance, array[1]) for _ in range(int(array[2]))]
    if kind in ('double', 'float'):
        return chance.choice(FLOATS if kind == 'double' else FLOATS[:3] + FLOATS[6:])
    if kind == 'boolean':
        return chance.random() < 0.5
    if kind.startswith('string'):
        return chance.choice(TEXTS)
    integer = re.fullmatch(r'(u?)int(\d+)', kind)
    if integer:
        bits = int(integer[2])
        low, high = (0, 2**bits - 1) if integer[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return chance.choice((0, 1, low, high))
    if kind == 'octet':
        return bytes([chance.randrange(256)])
    return message_of(chance, kind)


def message_of(chance, kind):
    """A message with random fields, of which some keep their defaults."""
    message = kind_of(kind)() if isinstance(kind, str) else kind()
    for name, field in message.get_fields_and_field_types().items():
        if chance.random() < 0.7:
            setattr(message, name, value_of(chance, field))
    if kind == DURATION:
        message.sec = chance.choice((-(2**31), -1, 0))  # a search may take as long as that
    return message


def test_hostile_fields_of_every_service_are_answered(ros, node):
    """The last one: some of its requests may be understood."""
    chance = random.Random(1)
    ros.wait_for(lambda: set(NODES) <= set(ros.node.get_node_names()))
    found = {
        name: kind
        for one in NODES
        for name, (kind, *_) in ros.node.get_service_names_and_types_by_node(one, '/')
        if kind.startswith('dynamics_ros_msgs/srv/')
    }
    assert len(found) >= 9, found
    codes = set()
    for name, kind in sorted(found.items()):
        service = kind_of(kind)
        for _ in range(times(15, 300)):
            request = message_of(chance, service.Request)
            result = ros.call(service, name, request).result
            codes.add(result.code)
            assert result.code == Result.SUCCESS or result.message, request
            # An error that nobody expected.
            assert not re.match(r'\w+Error: ', result.message), (result.message, request)
    assert len(codes) > 2
    for one in NODES:
        values = ros.wait_for_report(one)
        assert not [key for key in values if key.startswith('unexpected errors')], values
    assert node.alive and 'Traceback' not in node.printed
