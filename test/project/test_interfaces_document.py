# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""docs/interfaces.md names what running nodes have: every topic and service, none that is not."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from arm import NAMES
from ros_harness import client, running
from sensor_msgs.msg import JointState

from dynamics_ros.parameters.simulator import SimulatorParameters
from dynamics_ros.settings import declared

DOMAIN = 66
DOCUMENT = (Path(__file__).parents[2] / 'docs' / 'interfaces.md').read_text()
NODES = (
    'kinematics_node',
    'dynamics_node',
    'contact_node',
    'cartesian_servo_node',
    'impedance_controller_node',
    'robot_simulator',
)
MANAGED = ('dynamics_node', 'cartesian_servo_node', 'impedance_controller_node')
FEEDBACK = '/_action/feedback'
OF_EVERY_NODE = re.compile(r'/(rosout|parameter_events)$|/_action/')
OF_PARAMETERS = re.compile(
    r'/_action/|/(\w+_parameters(_atomically)?|get_parameter_types|\w+_description)$'
)


def section(title: str) -> str:
    return re.split(r'^## ', DOCUMENT.split(f'## {title}\n')[1], flags=re.MULTILINE)[0]


def documented(node: str, headings: str) -> set[tuple[str, str]]:
    """Resolved name and type of each row of the tables with such a heading."""
    found = set()
    common = ['All three nodes'] if node != 'robot_simulator' else []
    for title in (node, *common, *(['Managed nodes'] if node in MANAGED else [])):
        for table in section(title).split('\n\n'):
            lines = table.strip().splitlines()
            if not lines or not re.match(rf'\| (?:{headings}) \|', lines[0]):
                continue
            for name, kind in re.findall(r'^\| `([^`]+)` \| (\w+/\w+) \|', table, re.MULTILINE):
                resolved = name.replace('~', f'/{node}').replace('<frame>', 'tool0')
                package, message = kind.split('/')
                resolved = resolved if resolved.startswith('/') else f'/{resolved}'
                found.add((resolved, f'{package}/{message}'))
    # The servo has one of its two ways out, by command_type.
    return found - {('/cartesian_servo_node/joint_commands', 'std_msgs/Float64MultiArray')}


def subscribed_by_all() -> set[tuple[str, str]]:
    """What the table of inputs of all nodes has."""
    table = section('All three nodes').split('### Subscribed')[1].split('### Published')[0]
    rows = re.findall(r'^\| `([^`]+)` \| (\w+/\w+) \|', table, re.MULTILINE)
    return {(f'/{name}', kind) for name, kind in rows}


def told(node: str) -> dict[str, set[tuple[str, str]]]:
    """Names and types that the document gives a node; the three nodes run in one process."""
    common = subscribed_by_all()
    decided = {row for row in common if row[0] in ('/payload', '/gravity')}  # by dynamics_node
    topics, subscriptions = documented(node, 'published|topic'), documented(node, 'subscribed')
    if node != 'robot_simulator':
        topics -= common
    if node == 'dynamics_node':
        topics, subscriptions = topics | decided, subscriptions | (common - decided)
    elif node == 'contact_node':
        subscriptions = set()
    elif node in MANAGED:
        subscriptions |= common
    return {
        'topics': topics,
        'subscriptions': subscriptions,
        'services': documented(node, 'service'),
        'actions': documented(node, 'action'),
    }


def running_now(node, name: str) -> dict[str, set[tuple[str, str]]]:
    """Names and types of a running node, as another one sees them."""

    def seen(ask):
        for topic, kinds in ask(name, '/'):
            for package, _, kind in (one.split('/') for one in kinds):
                yield topic, f'{package}/{kind}'

    topics = {*seen(node.get_publisher_names_and_types_by_node)}
    services = {*seen(node.get_service_names_and_types_by_node)}
    subscriptions = {*seen(node.get_subscriber_names_and_types_by_node)}
    return {
        'topics': {row for row in topics if not OF_EVERY_NODE.search(row[0])},
        'subscriptions': {row for row in subscriptions if row[0] != '/parameter_events'},
        'services': {row for row in services if not OF_PARAMETERS.search(row[0])},
        'actions': {
            (topic.removesuffix(FEEDBACK), kind.removesuffix('_FeedbackMessage'))
            for topic, kind in topics
            if topic.endswith(FEEDBACK)
        },
    }


@pytest.fixture(scope='module')
def graph():
    parameters = {'publish_tf': True, 'command_joints': ['wrist_roll']}
    with (
        running('robot_simulator', DOMAIN, {'publish_clock': True}),
        running('dynamics_ros', DOMAIN, parameters),  # the robot of the simulator
        running('cartesian_servo_node', DOMAIN),
        running('impedance_controller_node', DOMAIN, {'command_joints': NAMES}),
        client(DOMAIN) as one,
    ):
        torques = one.listen(JointState, '/contact_node/external_torques')
        one.wait_for(lambda: torques)
        # A reader of one topic has not yet heard of all the others.
        one.wait_for(lambda: set(NODES) <= set(one.node.get_node_names()))
        yield one


@pytest.mark.ros
@pytest.mark.parametrize('node', NODES)
def test_every_topic_service_and_action_of_a_node_is_documented_with_its_type(graph, node):
    expected = told(node)
    with suppress(AssertionError):  # nodes may be seen before their topics
        graph.wait_for(lambda: running_now(graph.node, node) == expected)
    assert running_now(graph.node, node) == expected


def test_every_parameter_is_documented():
    """Those of the simulator in its section; config/dynamics_ros.yaml has all others."""
    named = set(re.findall(r'`([\w.*]+)`', section('robot_simulator')))
    assert {item.name for item in declared(SimulatorParameters)} <= named
    assert '{literalinclude} ../config/dynamics_ros.yaml' in section('Parameters')
