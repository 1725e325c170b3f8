"""Requests of any size to any service: what is too large is refused unread."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from arm import ARM
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import deserialize_message, serialize_message
from ros_harness import client, running
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from dynamics_ros.nodes.app.guarded_node import MOST_ENTRIES, _one_by_one
from dynamics_ros.nodes.wire import service_bytes
from dynamics_ros.nodes.wire.service_bytes import RefusedRequest, bounded
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import (
    ComputeForwardKinematics,
    ComputeInverseKinematics,
    ComputeJacobian,
    SetPayload,
)

DOMAIN = 109
HUGE = 'x' * (2 << 20)


def taken(kind, request):
    return deserialize_message(serialize_message(request), kind.Request)


def test_a_request_is_whole_up_to_its_bound():
    kind = bounded(ComputeJacobian, 1000)
    small = ComputeJacobian.Request(frame='tool0', state=JointState(name=['a'], position=[1.0]))
    assert taken(kind, small) == small
    large = taken(kind, ComputeJacobian.Request(frame='x' * 1000))
    assert isinstance(large, RefusedRequest)
    assert 'expected at most 1000' in str(large.error)


def test_entries_are_counted_before_they_are_made():
    kind = bounded(SetParameters, 10**6, 3)
    for count in (0, 3):
        request = SetParameters.Request(parameters=[Parameter()] * count)
        assert taken(kind, request) == request
    refused = taken(kind, SetParameters.Request(parameters=[Parameter()] * 4))
    assert str(refused.error) == 'request: 4 entries; expected at most 3'
    assert taken(bounded(Trigger, 10), Trigger.Request()) == Trigger.Request()


def test_where_bytes_cannot_be_had_entries_are_counted_afterwards(monkeypatch):
    def fail():
        raise OSError('no such library')

    monkeypatch.setattr(service_bytes, '_middleware', fail)
    assert bounded(SetParameters, 10, 3) is SetParameters
    request = SetParameters.Request(parameters=[Parameter()] * (MOST_ENTRIES + 1))
    with pytest.raises(Exception, match='expected up to 1000'):
        _one_by_one(lambda *_: pytest.fail('not to be asked'))(request, SetParameters.Response())


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
