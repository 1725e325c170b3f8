# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Requests of any size to any service: what is too large is refused with a reason."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from arm import ARM
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import serialize_message
from ros_harness import client, running
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.guarded_node import (
    ENTRIES,
    MAX_BYTES,
    MAX_ENTRIES,
    check_size,
    size_of,
)
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import (
    ComputeForwardKinematics,
    ComputeInverseKinematics,
    ComputeJacobian,
    SetPayload,
)

DOMAIN = 109
HUGE = 'x' * (2 << 20)


def refusal(request) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        check_size(request)
    return str(caught.value)


def test_a_request_is_taken_up_to_its_bound():
    check_size(Trigger.Request())
    check_size(ComputeJacobian.Request(frame='tool0', state=JointState(name=['a'])))
    check_size(ComputeJacobian.Request(frame='x' * (MAX_BYTES - 1000)))
    large = ComputeJacobian.Request(frame='x' * MAX_BYTES)
    assert refusal(large).endswith(f'bytes; expected at most {MAX_BYTES}')


def test_the_size_of_a_request_is_about_that_of_its_bytes():
    pose = PoseStamped()
    pose.header.frame_id = 'tool0' * 3
    state = JointState(name=['a' * 10, 'é'], position=[1.0] * 50, velocity=[0.0])
    parameter = ParameterValue(type=9, string_array_value=['abc'] * 40)
    for request in (
        Trigger.Request(),
        ComputeInverseKinematics.Request(frame='x' * 300, other_targets=[pose] * 20, seed=state),
        ComputeForwardKinematics.Request(frames=['tool0'] * 100),
        SetParameters.Request(parameters=[Parameter(name='a' * 30, value=parameter)] * 3),
    ):
        # Without the lengths of texts and lists, and with 8 bytes for each number.
        assert size_of(request) == pytest.approx(len(serialize_message(request)), rel=0.7, abs=64)


@pytest.mark.parametrize('kind', ENTRIES, ids=lambda kind: kind.__name__)
def test_entries_about_parameters_are_counted(kind):
    entry = Parameter() if ENTRIES[kind] == 'parameters' else 'publish_rate'
    check_size(kind(**{ENTRIES[kind]: [entry] * MAX_ENTRIES}))
    told = refusal(kind(**{ENTRIES[kind]: [entry] * (MAX_ENTRIES + 1)}))
    assert told == f'request: {MAX_ENTRIES + 1} entries; expected at most {MAX_ENTRIES}'


def test_a_description_fits_into_a_parameter():
    text = ParameterValue(type=4, string_value=HUGE)
    check_size(SetParameters.Request(parameters=[Parameter(name='a', value=text)]))
    text.string_value = HUGE * 8
    assert 'bytes' in refusal(SetParameters.Request(parameters=[Parameter(name='a', value=text)]))


@pytest.mark.ros
def test_services_of_every_node_refuse_two_megabytes():
    with client(DOMAIN) as ros, running('dynamics_ros', DOMAIN, {'robot_description': ARM}) as node:
        payload = SetPayload.Request()
        payload.payload.header.frame_id = HUGE
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
            assert result.code == Result.INVALID_ARGUMENT
            assert 'bytes; expected at most 1048576' in result.message
        assert node.alive
