# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A thousand errors that outsiders cause: each is answered with a reason, and no node ends."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from numpy.testing import assert_allclose
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters, SetParametersAtomically
from rclpy.qos import qos_profile_sensor_data
from ros_harness import client, running, stamp_of
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

pytestmark = pytest.mark.ros

DOMAIN = 104

ERRORS = 1100
"""More than all nodes together used to survive."""

AT_ONCE = 20

MAX_SECONDS = 6.0
"""Processor time for a request of 100,000 parameters; its objects take 2 s of that."""

EVERY = {
    'dynamics_ros': ('kinematics_node', 'dynamics_node', 'contact_node'),
    'cartesian_servo_node': ('cartesian_servo_node',),
    'robot_simulator': ('robot_simulator',),
}


@pytest.fixture(scope='module')
def ros():
    with client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def nodes(ros):
    """Every executable; the three nodes of the first work on the robot, on simulated time."""
    with ExitStack() as stack:
        found = {}
        for i, name in enumerate(EVERY):
            parameters = {'robot_description': ARM, 'use_sim_time': i == 0}
            namespace = f'/other{i}' if i else ''
            found[name] = stack.enter_context(
                running(name, DOMAIN, parameters, namespace=namespace)
            )
        yield found


@pytest.fixture
def torques(ros, nodes):
    """Gravity torques that are right, before and after the test; no node ends, or logs a fault."""
    received = ros.listen(JointState, '/dynamics_node/gravity_torques')
    expect_right(ros, received)
    yield received
    expect_right(ros, received)
    for process in nodes.values():
        assert process.alive
        assert 'Traceback' not in process.printed
        assert 'unexpected' not in process.printed


def expect_right(ros, received) -> None:
    answer = ros.exchange(ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q)), received)
    assert_allclose(answer.effort, ROBOT.gravity(Q), atol=1e-12)


def processor_time(process) -> float:
    """Seconds that the threads of a process have run."""
    fields = Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def of_type(kind: int, name: str = 'publish_rate') -> Parameter:
    return Parameter(name=name, value=ParameterValue(type=kind, double_value=1.0))


@pytest.mark.parametrize('executable', EVERY)
def test_values_of_no_type_are_refused_with_a_reason_however_many(ros, nodes, torques, executable):
    prefix = f'/other{list(EVERY).index(executable)}' if executable != 'dynamics_ros' else ''
    names = [f'{prefix}/{node}' for node in EVERY[executable]]
    for node in names:
        for kind in (SetParameters, SetParametersAtomically):
            ros.call(kind, f'{node}/set_parameters{"_atomically" * (kind is not SetParameters)}')
    for begin in range(0, ERRORS, AT_ONCE):
        node = names[begin // AT_ONCE % len(names)]
        futures = []
        for i in range(begin, begin + AT_ONCE):
            parameters = [of_type(10 + i % 246)]
            if i % 2:
                request, service = SetParameters.Request(parameters=parameters), 'set_parameters'
            else:
                request = SetParametersAtomically.Request(parameters=parameters)
                service = 'set_parameters_atomically'
            futures.append((i, ros.ask(f'{node}/{service}', request)))
        ros.wait_for(lambda futures=futures: all(future.done() for _, future in futures))
        for i, future in futures:
            response = future.result()
            result = response.results[0] if i % 2 else response.result
            assert not result.successful
            assert f'its value has the type {10 + i % 246}; expected one of' in result.reason


def test_a_request_with_a_value_of_no_type_sets_nothing(ros, torques):
    before = ros.get_parameter('kinematics_node', 'publish_rate')
    request = SetParameters.Request(parameters=[of_type(3), of_type(200)])
    answer = ros.call(SetParameters, '/kinematics_node/set_parameters', request)
    assert not any(result.successful for result in answer.results)
    assert ros.get_parameter('kinematics_node', 'publish_rate') == before
    request = SetParametersAtomically.Request(parameters=[of_type(200), of_type(3)])
    name = '/kinematics_node/set_parameters_atomically'
    assert not ros.call(SetParametersAtomically, name, request).result.successful


@pytest.mark.parametrize('kind', [SetParameters, SetParametersAtomically, GetParameters])
def test_a_hundred_thousand_entries_are_refused_and_outputs_go_on(ros, nodes, torques, kind):
    service = {
        SetParameters: '/dynamics_node/set_parameters',
        SetParametersAtomically: '/dynamics_node/set_parameters_atomically',
        GetParameters: '/dynamics_node/get_parameters',
    }[kind]
    ros.call(kind, service)
    if kind is GetParameters:
        request = kind.Request(names=['publish_rate'] * 100_000)
    else:
        request = kind.Request(parameters=[of_type(3)] * 100_000)
    before = processor_time(nodes['dynamics_ros'])
    future = ros.ask(service, request)
    message = ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q))
    ros.exchange(message, torques)
    ros.wait_for(future.done)
    # rclpy makes objects of the request before anybody can refuse it; nothing else is done.
    assert processor_time(nodes['dynamics_ros']) - before < MAX_SECONDS
    if kind is SetParameters:
        (result,) = future.result().results
    elif kind is SetParametersAtomically:
        result = future.result().result
    else:
        assert not future.result().values
        return
    assert not result.successful
    assert result.reason == 'request: 100000 entries; expected at most 1000'


def test_a_clock_that_is_no_time_is_ignored_and_counted(ros, nodes, torques):
    now = stamp_of(5_000_000_000)
    ros.publish('/clock', Clock(clock=now), qos_profile_sensor_data)
    ros.wait_for(lambda: ros.node.count_subscribers('/clock') >= 3)
    count = [0]
    reason = 'refused: a /clock that is no time'

    def send() -> None:
        for _ in range(AT_ONCE):
            message = Clock()
            message.clock.sec = -1 - count[0] if count[0] % 2 else 1
            message.clock.nanosec = 0 if count[0] % 2 else 4_000_000_000
            ros.publish('/clock', message, qos_profile_sensor_data)
            count[0] += 1

    ros.wait_for(lambda: int(ros.values('dynamics_node').get(reason, 0)) > ERRORS, meanwhile=send)
    printed = nodes['dynamics_ros'].printed
    assert printed.count('/clock ignored') == 3  # once a node
    later = stamp_of(6_000_000_000)
    ros.wait_for(
        lambda: ros.reported_at('dynamics_node') == 6 * 10**9,
        meanwhile=lambda: ros.publish('/clock', Clock(clock=later), qos_profile_sensor_data),
    )
