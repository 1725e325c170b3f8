# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an arm on springs says, and whether all that it has is in the document."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from diagnostic_msgs.msg import DiagnosticStatus
from few_joint_arms import ARMS, few_joint_arm
from impedance_harness import NAMES, NODE, ROBOT, TOOL, TOPIC, Arm
from rcl_interfaces.msg import Log
from ros_harness import client, description, running
from std_msgs.msg import Float64MultiArray

from dynamics_ros.algorithms.control.impedance import FLAGS
from dynamics_ros.nodes.impedance_topics import LIMITS, Action, ImpedanceStatus
from dynamics_ros.reasons import Explanation, Reason
from dynamics_ros.simulation import comfortable_posture

pytestmark = pytest.mark.ros

DOMAIN = 115
FOLLOWING = Action(Reason.FOLLOWING, 'following pose_command')
OF_PARAMETERS = re.compile(r'_parameters(_atomically)?$|parameter_types$|_description$')
DOCUMENT = (Path(__file__).parents[3] / 'docs' / 'interfaces.md').read_text()


def test_every_flag_that_limits_a_motion_has_words():
    errors = {'state', 'input', 'memory'}
    assert set(LIMITS) - {'lead', 'speed', 'range'} == set(FLAGS) - errors


class Said:
    """In place of a node and its topic: what is said."""

    def __init__(self):
        self.messages = []

    def get_name(self):
        return 'arm'

    def publish(self, message):
        self.messages.append(message)


def test_what_limits_it_is_told_until_the_next_message(monkeypatch):
    said = Said()
    monkeypatch.setattr('dynamics_ros.nodes.outputs.Output', lambda *_: said)
    status = ImpedanceStatus(said)
    status.record(['guard', 'torque_rate'], True)
    status.publish_action(FOLLOWING, 'arm', 'active', None)
    first = said.messages[-1]
    assert first.message == (
        'following pose_command; limited by: a joint kept from the end of its range, '
        'largest torque rate, the tool does not follow'
    )
    assert first.level != b'\0'
    # Not again before it is due, and by then it is over.
    status.publish_action(FOLLOWING, 'arm', 'active', None)
    assert len(said.messages) == 1
    status.publish_action(Action(Reason.HOLDING, 'holding'), 'arm', 'active', None)
    assert said.messages[-1].message == 'holding'
    assert said.messages[-1].level == b'\0'


def test_a_tool_that_is_softer_than_its_settings_is_a_value_of_the_status(monkeypatch):
    said, warning = Said(), Explanation(Reason.STIFFNESS_REDUCED, 'allow 1.8 instead of 10 Nm/rad')
    monkeypatch.setattr('dynamics_ros.nodes.outputs.Output', lambda *_: said)
    ImpedanceStatus(said).publish_action(FOLLOWING, 'arm', 'active', None, warning=warning)
    values = {x.key: x.value for x in said.messages[-1].values}
    assert values['stiffness_reduced'] == warning
    assert values['reason'] == 'following'


def test_the_node_reports_once_that_a_wrist_is_softer_than_its_settings():
    rest, home = np.zeros(len(NAMES)), comfortable_posture(ROBOT, TOOL)
    parameters = {'robot_description': description(), 'command_joints': NAMES}
    parameters |= {'joint_state_timeout': 5.0}
    with running(NODE, DOMAIN, parameters), client(DOMAIN) as ros:
        statuses = ros.listen(DiagnosticStatus, f'/{NODE}/status', 200)
        ros.listen(Float64MultiArray, TOPIC, 5000)
        logs = ros.listen(Log, '/rosout', 200)

        def warned():
            found = [{x.key: x.value for x in m.values} for m in statuses]
            return [x['stiffness_reduced'] for x in found if 'stiffness_reduced' in x]

        ros.wait_for(
            lambda: len(warned()) > 2,
            meanwhile=lambda: ros.publish_joint_state(
                ros.joint_state(NAMES, home, rest, rest, step=0.004)
            ),
            period=0.004,
        )
        assert 'Nm/rad about' in warned()[0]
        assert sum(m.msg == warned()[0] for m in logs) == 1


@pytest.mark.slow
def test_every_topic_and_service_is_in_the_document():
    section = ''.join(
        re.split(r'^## ', DOCUMENT.split(f'## {title}\n')[1], flags=re.MULTILINE)[0]
        for title in (NODE, 'Managed nodes')
    )
    rows = re.findall(r'^\| `~/(\w+)` \| (\w+)/(\w+) \|', section, re.MULTILINE)
    told = {(f'/{NODE}/{name}', f'{package}/{kind}') for name, package, kind in rows}
    parameters = {'robot_description': description(), 'command_joints': NAMES}
    with running(NODE, DOMAIN, parameters), client(DOMAIN) as ros:
        one = Arm(ros, None, None)
        ros.wait_for(lambda: one.statuses)

        def found():
            node = ros.node
            asked = (
                node.get_publisher_names_and_types_by_node,
                node.get_subscriber_names_and_types_by_node,
                node.get_service_names_and_types_by_node,
            )
            return {
                (name, re.sub('/(msg|srv)/', '/', kind))
                for ask in asked
                for name, kinds in ask(NODE, '/')
                for kind in kinds
                if name.startswith(f'/{NODE}/')
                and not re.search(
                    r'_parameters(_atomically)?$|parameter_types$|_description$', name
                )
            }

        # Its messages may come before the graph knows their node.
        ros.wait_for(lambda: NODE in ros.node.get_node_names())
        ros.wait_for(lambda: told <= found())
        assert found() <= told


@pytest.mark.slow
@pytest.mark.parametrize(('name', 'angle', 'said'), [
    ('gantry', 0.0, 'holding'),
    ('scara', 0.8, 'holding'),
    ('scara', 0.0, 'holding; limited by: near a singularity'),
])  # fmt: skip
def test_an_arm_with_few_joints_is_quiet_where_it_loses_no_direction(name, angle, said):
    names = [f'joint_{i}' for i in range(1, len(ARMS[name][0]) + 1)]
    parameters = {
        'robot_description': few_joint_arm(name),
        'frame': 'tool',
        'command_joints': names,
        'joint_state_timeout': 5.0,
    }
    rest, held = np.zeros(len(names)), np.full(len(names), angle)
    with running(NODE, DOMAIN + 1, parameters), client(DOMAIN + 1) as ros:
        statuses = ros.listen(DiagnosticStatus, f'/{NODE}/status', 200)
        ros.listen(Float64MultiArray, TOPIC, 5000)
        status = ros.wait_for(
            lambda: next((m for m in statuses if m.message == said), None),
            meanwhile=lambda: ros.publish_joint_state(ros.joint_state(names, held, rest, rest)),
            period=0.004,
        )
        assert (status.level == DiagnosticStatus.OK) == (said == 'holding')
