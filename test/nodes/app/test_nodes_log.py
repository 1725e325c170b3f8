# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the nodes write: whatever came from outside is printable, and a fault is told once."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from unittest.mock import MagicMock

import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from geometry_msgs.msg import TwistStamped
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from ros_harness import LATCHED, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros.errors import InvalidArgumentError, printable
from dynamics_ros.nodes.reporting import LIBRARY, MAX_PRESENT, CauseLog, LibraryLog, NodeLog
from dynamics_ros.reasons import Explanation, Names, Reason
from dynamics_ros_msgs.msg import Payload
from dynamics_ros_msgs.srv import ComputeJacobian, SetPayload

DOMAIN = 106

FORGED = 'x\n[ERROR] [0.0] [safety]: forged\r\x1b[2J\x1b]0;title\x07\u202e\u2028\u200b\x00y'
IN_MESSAGES = FORGED.replace('\x00', '')
"""Strings of messages end at the zero."""


def is_clean(text: str) -> bool:
    return text.isprintable() and 'forged\r' not in text


@pytest.mark.parametrize('text', [FORGED, 'a\tb', '\udce9', '\x7f', '\x85', 'é' * 5000])
def test_what_comes_from_outside_becomes_one_printable_line(text):
    told = printable(text)
    assert told.isprintable()
    assert len(told) < 10_000
    assert str(InvalidArgumentError('name', text, 'another')).isprintable()


def test_a_cause_is_logged_beside_many_that_are_invented_which_cannot_flood_the_log():
    node = MagicMock()
    log = CauseLog(node)

    def invented(k):
        return Explanation(Reason.MESSAGES_REFUSED, 'repeated names: ', Names((f'x{k}',), f'x{k}'))

    for k in range(MAX_PRESENT):
        log.add(invented(k))
    real = Explanation(Reason.POSITION_NOT_FINITE, 'position not finite')
    log.add(real)
    warned = node.get_logger().warning
    assert warned.call_args.args == (real,)
    for k in range(1000):
        log.add(real)
        log.add(invented(k))
    assert warned.call_count < 3 * MAX_PRESENT


def test_the_library_logs_with_any_severity_in_any_order(capfd):
    handler = LibraryLog(NodeLog(LIBRARY))
    log = logging.getLogger(LIBRARY)
    try:
        for level in (logging.WARNING, logging.ERROR, logging.WARNING):
            log.log(level, 'level %d', level)
    finally:
        logging.captureWarnings(False)
        log.removeHandler(handler)
        logging.getLogger('py.warnings').removeHandler(handler)
    printed = capfd.readouterr().err
    severities = [line.partition(']')[0] for line in printed.splitlines() if 'level' in line]
    assert severities == ['[WARN', '[ERROR', '[WARN']


# --- nodes --------------------------------------------------------------------------------------


def hostile_state(ros, name: str) -> JointState:
    message = ros.joint_state([name, *NAMES], [0.0, *Q], [0.0, *STILL], [0.0, *ROBOT.gravity(Q)])
    message.header.frame_id = IN_MESSAGES
    return message


@pytest.mark.ros
@pytest.mark.slow
def test_no_text_from_outside_forges_a_line_of_a_log(ros):
    with ExitStack() as stack:
        node = stack.enter_context(running('dynamics_ros', DOMAIN))
        servo = stack.enter_context(running('cartesian_servo_node', DOMAIN, {'autostart': True}))
        ros.publish('/robot_description', String(data=ARM), LATCHED)
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        said = ros.listen(type(ros.status('')), '/cartesian_servo_node/status')
        ros.exchange(hostile_state(ros, f'{IN_MESSAGES} joint'), torques)
        ros.wait_for_report('dynamics_node')
        assert any('ignored joint' in key for key in ros.values('dynamics_node'))
        ros.publish_joint_state(JointState(name=[IN_MESSAGES] * 2, position=[0.0, 0.0]))
        for text in (f'<robot name="{IN_MESSAGES}"/>', IN_MESSAGES, f'<robot {IN_MESSAGES}'):
            ros.publish('/robot_description', String(data=text), LATCHED)
            ros.wait_for_status('dynamics_node', 'refused')
        ros.publish('/robot_description', String(data=ARM), LATCHED)
        ros.wait_for(lambda: 'refused' not in ros.status('dynamics_node').message)
        payload = Payload()
        payload.header.frame_id, payload.inertia.m = IN_MESSAGES, 1.0
        request = SetPayload.Request(payload=payload)
        texts = [ros.call(SetPayload, '/dynamics_node/set_payload', request).result.message]
        request = ComputeJacobian.Request(frame=IN_MESSAGES)
        service = '/kinematics_node/compute_jacobian'
        texts.append(ros.call(ComputeJacobian, service, request).result.message)
        for executable_name in ('kinematics_node', 'cartesian_servo_node'):
            parameters = [
                Parameter(name=IN_MESSAGES, value=ParameterValue(type=kind)) for kind in (4, 200)
            ]
            parameters.append(
                Parameter(
                    name='frames' if executable_name == 'kinematics_node' else 'frame',
                    value=ParameterValue(type=4, string_value=IN_MESSAGES),
                )
            )
            request = SetParameters.Request(parameters=parameters)
            response = ros.call(SetParameters, f'/{executable_name}/set_parameters', request)
            texts += [result.reason for result in response.results]
        twist = TwistStamped()
        twist.header.frame_id = IN_MESSAGES
        count = len(said)
        ros.wait_for(
            lambda: any('forged' in status.message for status in said[count:]),
            meanwhile=lambda: (
                ros.publish('/cartesian_servo_node/twist_command', twist),
                ros.publish_joint_state(hostile_state(ros, 'joint')),
            ),
        )
        ros.wait_for_report('kinematics_node')
        for status in (*ros.diagnostics.values(), *said):
            texts += [status.message, status.hardware_id]
            texts += [text for value in status.values for text in (value.key, value.value)]
        assert all(map(is_clean, texts)), [text for text in texts if not is_clean(text)]
        assert sum('forged' in text for text in texts) > 5
        for process in (node, servo):
            ros.wait_for(lambda process=process: 'forged' in process.printed)
            lines = process.printed.splitlines()
            assert all(line.isprintable() and line.startswith('[') for line in lines), lines
            assert not any(line.startswith('[ERROR] [0.0]') for line in lines)
