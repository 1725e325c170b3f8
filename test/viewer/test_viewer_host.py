# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Who can reach the page of dynamics_ros_viewer: this machine, unless it is told otherwise."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('viser')

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from hosts import free_port
from ros_harness import NodeProcess, client, running

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.page.scene import Scene
from dynamics_ros.viewer.node import problems

pytestmark = pytest.mark.ros

DOMAIN = 102
ANOTHER = '127.0.0.2'
"""Not where a page for 127.0.0.1 is, and reached without a network."""


def answers(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=5.0).close()
    except ConnectionRefusedError:
        return False
    return True


def test_by_default_only_this_machine_reaches_the_page():
    port = free_port()
    with running('dynamics_ros_viewer', DOMAIN, {'port': port}) as viewer, client(DOMAIN) as ros:
        ros.wait_for(lambda: f'the page is at http://localhost:{port}' in viewer.printed)
        assert answers('127.0.0.1', port)
        assert not answers(ANOTHER, port)


def test_a_page_for_all_networks_is_warned_of():
    port = free_port()
    parameters = {'port': port, 'host': '0.0.0.0'}
    with running('dynamics_ros_viewer', DOMAIN, parameters) as viewer, client(DOMAIN) as ros:
        ros.wait_for(lambda: f'port {port} of 0.0.0.0 for everybody' in viewer.printed)
        assert 'without a password' in viewer.printed and '[WARN]' in viewer.printed
        assert answers(ANOTHER, port)


def test_an_address_of_another_machine_ends_it_with_the_reason():
    # An address that is kept free for documentation (RFC 5737).
    viewer = NodeProcess('dynamics_ros_viewer', DOMAIN, ['--ros-args', '-p', 'host:=203.0.113.1'])
    try:
        assert viewer.wait() == 1
        assert 'cannot start: host: ' in viewer.printed
        assert 'expected an address of this machine' in viewer.printed
    finally:
        viewer.close()


def test_a_port_that_was_asked_for_and_is_taken_is_an_error():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidArgumentError, match=f'port: {port} is in use'):
            Scene('127.0.0.1', port, 'test', exact=True)
    Scene('127.0.0.1', 0, 'test').close()


def status(node: str, message: str, reason: str) -> DiagnosticStatus:
    return DiagnosticStatus(
        name=f'{node}: outputs',
        level=DiagnosticStatus.ERROR,
        message=message,
        values=[KeyValue(key='reason', value=reason)],
    )


def test_one_cause_of_three_nodes_is_one_line_with_details_on_a_click():
    nodes = ('contact_node', 'dynamics_node', 'kinematics_node')
    stopped = [status(node, 'no joint_states since 3 s', 'states_stopped') for node in nodes]
    (line,) = problems(stopped)
    assert all(node in line for node in nodes) and line.count('no joint_states') == 1
    assert '<details' not in line
    long = 'publishing; external torques deviate: ' + 'elbow <12> instead of 0.1, ' * 20
    _, second = problems([*stopped, status('contact_node', long, 'other')])
    assert '<details' in second and '&lt;12&gt;' in second and '<12>' not in second
