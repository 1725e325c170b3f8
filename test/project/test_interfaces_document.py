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


def short(kind: str) -> str:
    package, _, name = kind.split('/')
    return f'{package}/{name}'


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
        for node in NODES:
            for name, _ in documented(node, 'published|topic') - subscribed_by_all():
                one.wait_for(lambda name=name: one.node.count_publishers(name))
            for name, _ in documented(node, 'service'):
                one.wait_for(lambda name=name: one.node.count_services(name))
        yield one


def settled(one, now, told):
    """What the graph says: of nodes it may learn later than of topics and services."""
    with suppress(AssertionError):
        one.wait_for(lambda: now() == told)
    return now()


@pytest.mark.ros
@pytest.mark.parametrize('node', NODES)
def test_every_topic_and_service_of_a_node_is_documented_with_its_type(graph, node):
    for ask, headings, apart in (
        (graph.node.get_publisher_names_and_types_by_node, 'published|topic', OF_EVERY_NODE),
        (graph.node.get_service_names_and_types_by_node, 'service', OF_PARAMETERS),
    ):

        def running_now(ask=ask, apart=apart):
            return {
                (name, short(kind))
                for name, kinds in ask(node, '/')
                for kind in kinds
                if not apart.search(name)
            }

        told = documented(node, headings)
        if headings != 'service' and node != 'robot_simulator':
            told -= subscribed_by_all()
            if node == 'dynamics_node':
                told.add(('/payload', 'dynamics_ros_msgs/Payload'))
                told.add(('/gravity', 'geometry_msgs/Vector3Stamped'))
        assert settled(graph, running_now, told) == told


@pytest.mark.ros
@pytest.mark.parametrize('node', NODES)
def test_every_action_is_documented_with_its_type(graph, node):
    ending = '/_action/feedback'

    def running_now():
        return {
            (name.removesuffix(ending), short(kind).removesuffix('_FeedbackMessage'))
            for name, kinds in graph.node.get_publisher_names_and_types_by_node(node, '/')
            for kind in kinds
            if name.endswith(ending)
        }

    told = documented(node, 'action')
    assert settled(graph, running_now, told) == told


def subscribed_by_all() -> set[tuple[str, str]]:
    """What the table of inputs of all nodes has."""
    table = section('All three nodes').split('### Subscribed')[1].split('### Published')[0]
    rows = re.findall(r'^\| `([^`]+)` \| (\w+/\w+) \|', table, re.MULTILINE)
    return {(f'/{name}', kind) for name, kind in rows}


@pytest.mark.ros
def test_every_subscription_is_documented_with_its_type(graph):
    def subscriptions(node):
        return {
            (name, short(kind))
            for name, kinds in graph.node.get_subscriber_names_and_types_by_node(node, '/')
            for kind in kinds
            if name != '/parameter_events'
        }

    # The composed process has them once, and decides on the payload itself.
    for node, told in {
        'dynamics_node': {
            row for row in subscribed_by_all() if row[0] not in ('/payload', '/gravity')
        }
        | documented('dynamics_node', 'subscribed'),
        'kinematics_node': documented('kinematics_node', 'subscribed'),
        'contact_node': set(),
        **{
            node: subscribed_by_all() | documented(node, 'subscribed')
            for node in ('cartesian_servo_node', 'impedance_controller_node')
        },
        'robot_simulator': documented('robot_simulator', 'subscribed'),
    }.items():
        assert settled(graph, lambda node=node: subscriptions(node), told) == told, node


def test_every_parameter_is_documented():
    """Those of the simulator in its section; config/dynamics_ros.yaml has all others."""
    named = set(re.findall(r'`([\w.*]+)`', section('robot_simulator')))
    assert {item.name for item in declared(SimulatorParameters)} <= named
    assert '{literalinclude} ../config/dynamics_ros.yaml' in section('Parameters')
