# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""config/sros2_policy.xml allows what the nodes do, and nobody else to do it.

What is compared is the graph of running nodes with the rules; enforcing them is the middleware's.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import chain

import pytest

pytest.importorskip('rclpy')

from ros_harness import Client, client, description, running
from sros2_policy import LEADER, NODES, OPERATOR, ROBOT, allowed

pytestmark = pytest.mark.ros

DOMAIN = 68

MEMBERS = {
    NODES: ('kinematics_node', 'dynamics_node', 'contact_node', 'cartesian_servo_node'),
    ROBOT: ('robot_simulator',),
}

ENDPOINTS = {
    ('topics', 'publish'): 'get_publisher_names_and_types_by_node',
    ('topics', 'subscribe'): 'get_subscriber_names_and_types_by_node',
    ('services', 'reply'): 'get_service_names_and_types_by_node',
}
"""What a rule is about, and what rclpy calls it."""

STATUS = '/_action/status'
"""End of the name of the topic that every action has."""


def may(enclave: str, kind: str, action: str, name: str) -> bool:
    return any(fnmatchcase(name, rule) for rule in allowed(enclave, kind, action))


@pytest.fixture(scope='module')
def watcher() -> Iterator[Client]:
    """A client that sees all nodes, with everything that they can have switched on."""
    switched_on = {
        'robot_description': description(),
        'publish_tf': True,
        'command_joints': ['wrist_roll'],
        'wrist_sensor.topic': 'wrist_wrench',
    }
    with (
        running('dynamics_ros', DOMAIN, switched_on),
        running('cartesian_servo_node', DOMAIN, {'robot_description': description()}),
        running('robot_simulator', DOMAIN, {'robot_description': description()}),
        client(DOMAIN) as one,
    ):
        for node in chain.from_iterable(MEMBERS.values()):
            # The last thing that a node makes once the robot is known, and what it has from the
            # beginning.
            one.wait_for(lambda node=node: _has_own_topics(one, node))
            one.wait_for(lambda node=node: one.node.get_service_names_and_types_by_node(node, '/'))
        for topic in (
            f'/dynamics_node/identify_payload{STATUS}',
            '/dynamics_node/gravity_commands',
        ):
            one.wait_for(lambda topic=topic: one.node.count_publishers(topic))
        yield one


@pytest.mark.parametrize(('kind', 'action'), ENDPOINTS)
@pytest.mark.parametrize('enclave', MEMBERS)
def test_all_that_nodes_do_is_allowed(
    watcher: Client, enclave: str, kind: str, action: str
) -> None:
    for node in MEMBERS[enclave]:
        ask = getattr(watcher.node, ENDPOINTS[kind, action])
        names = [name for name, _ in ask(node, '/')]
        denied = [name for name in names if not may(enclave, kind, action, name)]
        assert not denied, f'{node} may not {action} {denied}'


def _has_own_topics(watcher: Client, node: str) -> bool:
    if node not in watcher.node.get_node_names():
        return False
    topics = watcher.node.get_publisher_names_and_types_by_node(node, '/')
    return any(name.startswith(f'/{node}/') for name, _ in topics)


@pytest.mark.parametrize('enclave', [NODES, OPERATOR])
@pytest.mark.parametrize('topic', ['/joint_states', '/robot_description', '/odom'])
def test_only_the_robot_says_where_its_joints_are(enclave: str, topic: str) -> None:
    assert may(ROBOT, 'topics', 'publish', topic)
    assert not may(enclave, 'topics', 'publish', topic)


def test_the_operator_can_call_every_service_and_offers_none_of_them(watcher: Client) -> None:
    for node in MEMBERS[NODES]:
        services = watcher.node.get_service_names_and_types_by_node(node, '/')
        assert services
        for name, _ in services:
            assert may(OPERATOR, 'services', 'request', name)
            assert not may(OPERATOR, 'services', 'reply', name)


def test_actions_are_executed_by_the_nodes_and_called_by_the_operator(watcher: Client) -> None:
    actions = {
        name.removesuffix(STATUS)
        for node in MEMBERS[NODES]
        for name, _ in watcher.node.get_publisher_names_and_types_by_node(node, '/')
        if name.endswith(STATUS)
    }
    assert actions == allowed(NODES, 'actions', 'execute') == allowed(OPERATOR, 'actions', 'call')
    assert not allowed(OPERATOR, 'actions', 'execute')


@pytest.mark.parametrize(
    'topic',
    [
        '/cartesian_servo_node/twist_command',
        '/cartesian_servo_node/pose_command',
    ],
)
def test_only_the_leader_leads(topic: str) -> None:
    assert may(LEADER, 'topics', 'publish', topic)
    assert may(NODES, 'topics', 'subscribe', topic)
    assert not may(OPERATOR, 'topics', 'publish', topic)
    assert not may(LEADER, 'topics', 'publish', '/cartesian_servo_node/joint_trajectory')
    assert not may(LEADER, 'services', 'request', '/cartesian_servo_node/set_parameters')


def test_commands_for_the_robot_come_from_the_nodes_or_the_robot_itself() -> None:
    assert may(NODES, 'topics', 'publish', '/dynamics_node/gravity_commands')
    assert not may(OPERATOR, 'topics', 'publish', '/dynamics_node/gravity_commands')
    assert not may(OPERATOR, 'topics', 'publish', '/robot_simulator/forward_effort_commands')
