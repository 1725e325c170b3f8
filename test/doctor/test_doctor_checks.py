# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What `doctor` finds in a graph, and what it advises."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from documents import blocks, differs
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from sensor_msgs.msg import JointState

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


def arrivals(age=0.002, rate=100.0, pace=1.0, stamp_rate=None):
    """Arrivals of messages in blocks of ten, between which stamps are lost, for some seconds."""
    k = np.arange(max(20, int(3.0 * rate)))
    now = 1e9 + k / rate
    stamps = pace * (k - k % 10) / rate + (k % 10) / (stamp_rate or rate)
    stamps += np.median(now - stamps) - age
    return list(zip(now, now, stamps, strict=True))


def told(one):
    return [(finding.problem, finding.advice) for finding in findings(one)]


def test_of_a_good_graph_nothing():
    good = topic(listened=True, arrivals=arrivals())
    assert told(graph(good)) == []
    lines = list(plain(screen(graph(good), [])))
    assert lines[-1] == 'nothing is wrong'
    assert any(line.split() == [
        '/joint_states', '100', 'Hz', '2.0', 'ms', 'old', '/driver', NODE,
    ] for line in lines)  # fmt: skip


@pytest.mark.parametrize(
    ('reason', 'cure'),
    [
        ('no_publisher', 'joint_state_broadcaster'),
        ('unknown_joints', 'different robots'),
        ('messages_refused', '/diagnostics'),
        ('effort_missing', 'docs/efforts.md'),
        ('stamp_missing', 'header.stamp'),
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


@pytest.mark.parametrize(
    'options',
    [
        {'age': 0.8, 'rate': 300.0, 'pace': 0.7, 'stamp_rate': 430.0},
        {'age': 0.8, 'rate': 300.0, 'pace': 1.0, 'stamp_rate': 1000.0},
        {'age': 0.8, 'rate': 1.2},
    ],
)
def test_a_publisher_that_is_too_slow_has_no_wrong_clock(options):
    ((problem, advice),) = told(graph(topic(listened=True, arrivals=arrivals(**options))))
    assert 'stamps of /joint_states are 0.8 s behind' in problem
    assert advice.startswith('/driver is too slow')
    assert 'chrony' not in advice


def test_a_clock_that_is_set_or_differs_between_publishers_is_no_slow_publisher():
    late = arrivals(age=1.0)
    back = [(t, now, stamp - (k > 150)) for k, (t, now, stamp) in enumerate(late)]
    mixed = [(t, now, stamp - 5.0 * (k % 2)) for k, (t, now, stamp) in enumerate(late)]
    for one in (
        topic(listened=True, arrivals=back),
        topic(senders=('/driver', '/other'), listened=True, arrivals=mixed),
    ):
        ((_, advice),) = [found for found in told(graph(one)) if 'stamps' in found[0]]
        assert 'chrony' in advice


def test_arrivals_are_counted_by_steady_time_and_compared_with_the_clock_of_stamps():
    one = Topic('/joint_states')
    for now, stamp in ((100.0, 99.5), (100.1, 99.7), (100.2, 0.0)):
        seconds, nanoseconds = divmod(round(stamp * 1e9), 10**9)
        one.take(struct.pack('<BBHiI', 0, 1, 0, seconds, nanoseconds), now, stamped=True)
    one.take(b'', 100.3, stamped=True)
    assert len(one.arrivals) == 4 and one.rate > 0.0
    assert one.age == pytest.approx(0.45)


def reported(*functions, rate=100.0):
    """Positions of one joint by two nodes, over 5 s."""
    one = topic(senders=())
    for name, function in zip('ab', functions):
        one.publishers += (Endpoint(f'/{name}', JOINT_STATE, RELIABLE, name.encode()),)
        times = np.arange(0.0, 5.0, 1.0 / rate) + 1e-3 * len(one.publishers)
        states = [JointState(name=['swing'], position=[function(t)]) for t in times]
        one.reports[name.encode()] = list(zip(times, states, strict=True))
    return one


@pytest.mark.parametrize(
    ('other', 'rate', 'differs'),
    [
        (lambda t: 0.0, 100.0, True),
        (lambda t: math.sin(3.0 * t) + 0.3, 20.0, True),
        (lambda t: math.sin(3.0 * t - 0.03), 100.0, False),
        (lambda t: math.sin(3.0 * t) - 2.0 * math.pi, 100.0, False),
        (lambda t: math.nan, 100.0, False),
        (lambda t: 3.0, 0.5, False),
    ],
)
def test_positions_of_two_publishers_differ_beyond_noise_and_delay(other, rate, differs):
    found = told(graph(reported(lambda t: math.sin(3.0 * t), other, rate=rate)))
    assert [problem for problem, _ in found] == [
        '/a and /b report different positions of swing on /joint_states'
    ] * differs


def odometry(linear=1.0, angular=1.0, world=False, noise=0.0, jump=0.0, moves=1.0):
    """Odometry on a circle of 0.6 m, with noise and a jump of the poses [m]."""
    one, rng = topic('/odom', type='nav_msgs/msg/Odometry'), np.random.default_rng(1)
    for t in np.arange(0.0, 5.0, 0.02):
        yaw, message = 1.0 + 0.8 * moves * t, Odometry()
        where = 0.6 * np.array([np.sin(yaw), -np.cos(yaw)]) + noise * rng.normal(size=2)
        where += jump * (t > 2.0)
        message.pose.pose.position.x, message.pose.pose.position.y = map(float, where)
        turned, twist = message.pose.pose.orientation, message.twist.twist
        turned.z, turned.w = math.sin(0.5 * yaw), math.cos(0.5 * yaw)
        speed, heading = 0.48 * linear * moves, yaw * world
        twist.linear.x, twist.linear.y = speed * math.cos(heading), speed * math.sin(heading)
        twist.angular.z = 0.8 * angular * moves
        one.reports.setdefault(b'', []).append((1e9 + t, message))
    return one


@pytest.mark.parametrize(
    ('options', 'fault'),
    [
        ({}, ''),
        ({'noise': 0.01}, ''),
        ({'jump': 3.0}, ''),
        ({'moves': 0.0, 'noise': 0.02}, ''),
        ({'world': True}, 'linear twists are in the axes of frame_id instead of child_frame_id'),
        ({'angular': 180.0 / math.pi}, 'angular twists are 57.3 times the motion of the poses'),
        ({'linear': 0.5, 'jump': 1.0}, 'linear twists are 0.5 times the motion of the poses'),
    ],
)
def test_twists_that_contradict_the_poses_of_odometry(options, fault):
    found = told(graph(odometry(**options)))
    assert [problem for problem, _ in found] == [f'odometry of /driver on /odom: {fault}'][
        : bool(fault)
    ]


def between(sender, listener, qos=RELIABLE):
    """Joint states between two nodes, of which the second asks for a quality of service."""
    one = topic(senders=(sender,), listeners=())
    one.subscriptions = (Endpoint(listener, JOINT_STATE, qos),)
    return one


def mixed():
    one = topic()
    one.publishers = (Endpoint('/other', 'std_msgs/msg/String', RELIABLE),)
    return one


def silent_driver():
    return graph(topic('/arm/states', listeners=()), message='silent', reason='no_publisher')


def clock(senders, listeners):
    return topic('/clock', senders, listeners, type='rosgraph_msgs/msg/Clock')


def with_joints(*reported):
    one = graph(topic(joints={*reported}))
    one.described = ('a', 'b')
    return one


def timed(age):
    return graph(topic(listened=True, arrivals=arrivals(age, rate=9.0)))


COMMANDS = '/forward_effort_controller/commands'
FLOATS = {'type': 'std_msgs/msg/Float64MultiArray', 'qos': RELIABLE}
TWO = topic('/robot_description', ('/one', '/two'), (), type='std_msgs/msg/String', qos=LATCHED)
MADE_UP = '/joint_state_publisher_gui'


@pytest.mark.parametrize(
    ('one', 'problem', 'advice'),
    [
        (Graph(7, 5.0), 'no node runs in ROS_DOMAIN_ID=7', 'ROS_AUTOMATIC_DISCOVERY_RANGE'),
        (Graph(7, 5.0, Counter([NODE])), 'no node of dynamics_ros', 'ros2 launch dynamics_ros'),
        (graph(nodes=(NODE, NODE)), f'2 nodes are named {NODE}', 'namespaces'),
        (graph(nodes=('/driver',)), f'{NODE} has ended while it was looked at', 'respawn'),
        # Quality of service, of others and of our nodes, and types.
        (
            graph(between('/driver', '/rviz')),
            '/rviz cannot hear /driver on /joint_states: ',
            'have /rviz ask for less, or /driver offer more',
        ),
        (graph(between('/driver', NODE)), ' cannot hear /driver', '(qos_overrides of docs/'),
        (graph(between(NODE, '/late', LATCHED)), f' cannot hear {NODE}', '(qos_overrides of docs/'),
        (graph(mixed()), '/joint_states has several types: ', 'do not hear each other'),
        # Joint states.
        (
            silent_driver(),
            'silent',
            'joint states are on /arm/states: -r joint_states:=/arm/states',
        ),
        (
            with_joints('a'),
            'joints of the description that /joint_states lacks: b',
            'locked_joints',
        ),
        (with_joints('c'), 'has no joint of the description but c', 'different robots'),
        (with_joints(), 'nobody publishes joint states', 'joint_state_broadcaster'),
        (
            graph(topic(senders=('/driver', MADE_UP))),
            f'{MADE_UP} publishes made-up states on /joint_states',
            'end it',
        ),
        # Clocks.
        (timed(12.0), 'stamps of /joint_states are 12 s behind the clock of', 'use_sim_time'),
        (timed(-3.0), 'stamps of /joint_states are 3 s ahead of the clock of', 'use_sim_time'),
        (graph(clock((), (NODE,))), f'{NODE} with use_sim_time: nobody publishes', '--clock'),
        (
            graph(clock(('/driver',), ('/rviz',)), nodes=(NODE, '/driver', '/rviz')),
            f'{NODE} without use_sim_time, which others have: /rviz',
            'set use_sim_time on all nodes or none',
        ),
        # Several sources of one thing.
        (graph(TWO), '2 nodes publish /robot_description: /one, /two', 'namespaces'),
        (
            graph(topic(COMMANDS, (NODE, '/other'), ('/manager',), **FLOATS)),
            f'2 nodes can command {COMMANDS}: {NODE}, /other',
            'deactivate',
        ),
    ],
)
def test_a_problem_is_named_with_its_cure(one, problem, advice):
    ((found, cure),) = told(one)
    assert problem in found and advice in cure


STILL = graph(topic(COMMANDS, (NODE, '/other'), ('/manager',), **FLOATS), lifecycle='inactive')
PAUSED = graph(topic(COMMANDS, (NODE, '/other'), ('/manager',), **FLOATS), action='paused')
SIMULATED = graph(clock(('/simulator',), (NODE,)))


@pytest.mark.parametrize('one', [STILL, PAUSED, SIMULATED, with_joints('a', 'b', 'gripper')])
def test_what_is_right_is_no_problem(one):
    assert told(one) == []


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


def test_a_time_that_cannot_be_is_refused(capsys):
    for seconds in ('0', 'nan', '1e9'):
        with pytest.raises(SystemExit, match='2'):
            main(['--seconds', seconds])
    assert '0.5 to 600 s expected' in capsys.readouterr().err
