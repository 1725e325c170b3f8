# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What `doctor` finds in a graph, and what it advises."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from documents import blocks, differs
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

from dynamics_ros.command_line import plain
from dynamics_ros.doctor.checks import CURES, findings
from dynamics_ros.doctor.command import main, screen
from dynamics_ros.doctor.graph import JOINT_STATE, Endpoint, Graph, Topic
from dynamics_ros.reasons import Reason

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NODE = '/dynamics_node'
GOOD = 'publishing to subscribers'


def graph(*topics, nodes=(NODE, '/driver'), message=GOOD, reason='', level=None, **values):
    level = level or (DiagnosticStatus.OK if message == GOOD else DiagnosticStatus.WARN)
    one = Graph(domain=7, seconds=5.0)
    one.nodes.update(nodes)
    one.topics = {topic.name: topic for topic in topics}
    values['reason'] = reason or ('ok' if message == GOOD else 'other')
    one.statuses = {
        NODE: DiagnosticStatus(
            level=level,
            message=message,
            hardware_id='arm',
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
    }
    return one


def topic(name='/joint_states', senders=('/driver',), listeners=(NODE,), **options):
    kind, qos = options.pop('type', JOINT_STATE), options.pop('qos', qos_profile_sensor_data)
    return Topic(
        name,
        tuple(Endpoint(node, kind, qos) for node in senders),
        tuple(Endpoint(node, kind, qos_profile_sensor_data) for node in listeners),
        **options,
    )


def told(one):
    return [(finding.problem, finding.advice) for finding in findings(one)]


def test_of_a_good_graph_nothing():
    good = topic(listened=True, count=500, rate=100.0, age=0.002)
    assert told(graph(good)) == []
    lines = list(plain(screen(graph(good), [])))
    assert lines[-1] == 'nothing is wrong'
    assert any(line.split() == [
        '/joint_states', '100', 'Hz', '2.0', 'ms', 'old', '/driver', NODE,
    ] for line in lines)  # fmt: skip


def test_an_empty_graph_is_answered_with_where_to_look():
    ((problem, advice),) = told(Graph(domain=7, seconds=5.0))
    assert 'no node runs in ROS_DOMAIN_ID=7' in problem
    assert 'ROS_AUTOMATIC_DISCOVERY_RANGE' in advice


def test_a_graph_without_our_nodes():
    one = graph()
    one.statuses = {}
    ((problem, advice),) = told(one)
    assert 'no node of dynamics_ros' in problem
    assert 'ros2 launch dynamics_ros' in advice


def test_two_nodes_of_one_name():
    ((problem, advice),) = told(graph(nodes=(NODE, NODE)))
    assert problem.startswith(f'2 nodes are named {NODE}')
    assert 'namespaces' in advice


def test_what_was_refused_most_is_named():
    one = graph(message='publishing; some messages were refused', reason='messages_refused')
    one.statuses[NODE].values += [
        KeyValue(key='refused: malformed bytes', value='2'),
        KeyValue(key='refused: names without positions', value='30'),
        KeyValue(key='refused change', value='none'),
    ]
    ((problem, advice),) = told(one)
    assert problem.endswith('were refused, mostly: names without positions (30)')
    assert 'log of the node' in advice


@pytest.mark.parametrize(
    ('listener', 'cure'),
    [('/rviz', ' offer more'), (NODE, '(qos_overrides of docs/interfaces.md)')],
)
def test_quality_of_service_that_does_not_match_names_both_nodes(listener, cure):
    one = topic(listeners=())
    one.subscriptions = (Endpoint(listener, JOINT_STATE, RELIABLE),)
    ((problem, advice),) = told(graph(one))
    assert problem.startswith(f'{listener} cannot hear /driver on /joint_states: ')
    assert 'eliab' in problem
    assert '/driver' in advice and advice.endswith(cure)


def test_types_that_differ_name_the_nodes():
    one = topic()
    one.publishers = (Endpoint('/other', 'std_msgs/msg/String', RELIABLE),)
    ((problem, _),) = told(graph(one))
    assert '/joint_states has several types: ' in problem
    assert '/other: std_msgs/msg/String' in problem


@pytest.mark.parametrize(
    ('reason', 'cure'),
    [
        ('waiting_for_description', 'start robot_state_publisher'),
        ('no_publisher', 'joint_state_broadcaster'),
        ('incompatible_publisher', 'qos_overrides'),
        ('unknown_joints', 'different robots'),
        ('joints_missing', 'locked_joints'),
        ('position_not_finite', 'NaN'),
        ('states_stopped', 'driver'),
        ('positions_beyond_limits', 'radians'),
        ('masses_missing', 'inspect'),
        ('messages_refused', '/diagnostics'),
        ('effort_missing', 'docs/efforts.md'),
        ('stamp_missing', 'header.stamp'),
        ('odometry_axes', 'rotate it by the inverse of the pose'),
        ('odometry_incomplete', 'all six components'),
        ('unconfigured', 'ros2 lifecycle set'),
    ],
)
def test_a_reason_is_reported_with_its_cure_whatever_its_sentence(reason, cure):
    ((problem, advice),) = told(graph(message='any sentence', reason=reason))
    assert problem == f'{NODE}: any sentence'
    assert cure in advice


def test_a_sentence_without_reason_has_no_cure_and_every_cure_has_a_reason():
    message = 'silent: waiting for robot_description: /robot_description has no publisher'
    for reason in ('other', 'of_a_newer_version'):
        ((problem, advice),) = told(graph(message=message, reason=reason))
        assert (problem, advice) == (f'{NODE}: {message}', '')
    assert set(CURES) <= set(Reason)
    assert all(re.fullmatch('[a-z]+(_[a-z]+)*', reason.value) for reason in Reason)
    page = Path(__file__).parents[2] / 'docs' / 'interfaces.md'
    assert [r.value for r in Reason if f'`{r.value}`' not in page.read_text()] == []


def test_joint_states_of_another_name_are_named():
    one = graph(topic('/arm/states', listeners=()), message='silent', reason='no_publisher')
    ((_, advice),) = told(one)
    assert advice == 'joint states are on /arm/states: -r joint_states:=/arm/states'


@pytest.mark.parametrize(
    ('reported', 'told_of'),
    [
        ({'a', 'b', 'gripper'}, None),
        ({'a'}, ('joints of the description that /joint_states lacks: b', 'locked_joints.names')),
        ({'c'}, ('/joint_states has no joint of the description but c', 'different robots')),
        (set(), ('nobody publishes joint states', 'joint_state_broadcaster')),
    ],
)
def test_joints_of_the_description_without_state_are_named(reported, told_of):
    one = graph(topic(joints=reported))
    one.described = ('a', 'b')
    if told_of is None:
        assert not told(one)
        return
    ((problem, advice),) = told(one)
    assert told_of[0] in problem and told_of[1] in advice


@pytest.mark.parametrize(
    'options',
    [
        {'age': 0.8, 'rate': 300.0, 'pace': 0.7, 'stamp_rate': 430.0},
        {'age': 0.8, 'rate': 300.0, 'pace': 1.0, 'stamp_rate': 1000.0},
        {'age': 0.8, 'rate': 1.2, 'pace': 1.0, 'stamp_rate': 1.2},
    ],
)
def test_a_publisher_that_is_too_slow_has_no_wrong_clock(options):
    ((problem, advice),) = told(graph(topic(listened=True, count=900, **options)))
    assert 'stamps of /joint_states are 0.8 s behind' in problem
    assert advice.startswith('/driver is too slow')
    assert 'chrony' not in advice


def test_the_pace_of_stamps_is_measured():
    def pace(times):
        one = Topic('/joint_states')
        for now, stamp in times:
            seconds, nanoseconds = divmod(round(stamp * 1e9), 10**9)
            data = struct.pack('<BBHiI', 0, 1, 0, seconds, nanoseconds)
            one.take(data, now, stamped=True, joints=False)
        one.summarize()
        return one.pace, one.stamp_rate

    late = pace([(100.0 + 0.01 * i, 50.0 + 0.007 * i) for i in range(100)])
    assert late == pytest.approx((0.7, 1.0 / 0.007))
    assert pace([(100.0 + 0.01 * i, 50.0) for i in range(100)]) == (None, None)


@pytest.mark.parametrize(('age', 'side'), [(12.0, '12 s behind'), (-3.0, '3 s ahead of')])
def test_a_clock_that_is_off(age, side):
    ((problem, advice),) = told(graph(topic(listened=True, count=9, rate=9.0, age=age)))
    assert f'stamps of /joint_states are {side} the clock of this machine' in problem
    assert 'use_sim_time' in advice


def test_a_node_that_ended_is_told():
    ((problem, advice),) = told(graph(nodes=('/driver',)))
    assert problem == f'{NODE} has ended while it was looked at'
    assert 'respawn' in advice


def clock(senders, listeners):
    return topic('/clock', senders, listeners, type='rosgraph_msgs/msg/Clock')


def test_a_clock_that_nobody_publishes_is_told():
    ((problem, advice),) = told(graph(clock((), (NODE,))))
    assert problem.startswith(f'{NODE} with use_sim_time: nobody publishes /clock')
    assert '--clock' in advice
    assert told(graph(clock(('/simulator',), (NODE,)))) == []


def test_use_sim_time_on_some_nodes_only_is_told():
    ((problem, _),) = told(graph(clock(('/driver',), ('/rviz',)), nodes=(NODE, '/driver', '/rviz')))
    assert problem == f'{NODE} without use_sim_time, which others have: /rviz'


def test_two_nodes_that_command_one_robot_are_told():
    kind = 'std_msgs/msg/Float64MultiArray'
    name = '/forward_effort_controller/commands'
    one = graph(topic(name, (NODE, '/other'), ('/manager',), type=kind, qos=RELIABLE))
    ((problem, advice),) = told(one)
    assert problem == f'2 nodes can command {name}: {NODE}, /other'
    assert 'deactivate' in advice
    for key, value in (('lifecycle', 'inactive'), ('action', 'paused')):
        one.statuses[NODE].values = [KeyValue(key=key, value=value)]
        assert told(one) == []


def test_two_sources_of_one_thing():
    states = topic(senders=('/driver', '/joint_state_publisher_gui'))
    ((problem, _),) = told(graph(states))
    assert '/joint_state_publisher_gui publishes made-up states on /joint_states' in problem
    texts = topic('/robot_description', ('/one', '/two'), type='std_msgs/msg/String', qos=LATCHED)
    texts.subscriptions = ()
    ((problem, _),) = told(graph(texts))
    assert '2 nodes publish /robot_description: /one, /two' in problem


def test_outputs_that_nobody_wants_take_one_line_of_each_node():
    names = ('b/_action/status', 'wrench', 'markers')
    one = graph(*(topic(f'{NODE}/{name}', senders=(NODE,), listeners=()) for name in names))
    idle = [line for line in plain(screen(one, [])) if 'nobody listens' in line]
    assert idle == [f'  nobody listens to {NODE}/: b/_action/status, markers, wrench']


def test_the_documentation_shows_what_is_printed():
    page = Path(__file__).parents[2] / 'docs' / 'tools.md'
    shown = blocks(page, 'text')[1].text
    seen = graph(
        topic('/arm/states', senders=('/driver',), listeners=()),
        nodes=(NODE, '/driver', '/listener', '/kinematics_node', '/kinematics_node'),
        message='silent: waiting for swing: /joint_states has no publisher, no message so far',
        reason='no_publisher',
    )
    listener = Endpoint('/listener', JOINT_STATE, RELIABLE)
    seen.topics['/arm/states'].subscriptions = (listener,)
    lines = list(plain(screen(seen, findings(seen))))
    problems = lines[next(k for k, line in enumerate(lines) if line.startswith('! ')) :]
    assert differs(shown, '\n'.join(problems)) == ''


@pytest.mark.parametrize(
    'words', [['-r', '__node:=a b'], ['-p', 'rate'], ['--params-file', 'nowhere.yaml']]
)
def test_arguments_that_ros_cannot_read_are_told_in_one_line(capsys, words):
    assert main(['--ros-args', *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith('doctor: Failed to parse ROS arguments')
    assert words[1] in line
