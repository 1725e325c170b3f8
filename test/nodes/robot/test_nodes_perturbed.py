# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes whose freed memory is overwritten at once: robots are replaced, and nonsense comes in."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, STILL, Q
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.qos import qos_profile_sensor_data
from rclpy.serialization import deserialize_message, serialize_message
from ros_harness import LATCHED, client, running
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros import Robot

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 107

SWAPS = 4
FUZZ = 400
SAME = 1e-9

NUMBERS = (0.0, -0.0, 1.0, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e154)
TEXTS = ('', 'odom', 'base_link', 'x' * 100_000, '\x1b[2J\n', 'ä\u202e', '%s%n{}', '../../x')


@pytest.fixture(scope='module')
def ros():
    with client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def node(ros):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('PYTHONMALLOC', 'malloc')
        patch.setenv('MALLOC_PERTURB_', '34')
        with running('dynamics_ros', DOMAIN, {'use_sim_time': True}) as process:
            yield process


@pytest.fixture
def sound(node):
    """The node is alive after the test, and has said nothing of faults."""
    yield node
    assert node.alive
    for word in ('Traceback', 'unexpected', 'Warning'):
        assert word not in node.printed


def loaded(mass: float) -> str:
    return ARM.replace('</robot>', '') + (
        f'<link name="load"><inertial><mass value="{mass}"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>'
        '<joint name="load" type="fixed"><parent link="tool0"/><child link="load"/></joint></robot>'
    )


def test_robots_are_replaced_while_all_outputs_are_computed(ros, sound):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    ros.listen(JointState, '/contact_node/external_torques')
    for i in range(1, SWAPS + 1):
        urdf = loaded(0.5 * i)
        expected = Robot.from_urdf(urdf, backend='python').gravity(Q)
        ros.publish('/robot_description', String(data=urdf), LATCHED)
        ros.wait_for(
            lambda expected=expected: (
                torques and np.abs(np.array(torques[-1].effort) - expected).max() < SAME
            ),
            meanwhile=lambda: ros.publish_joint_state(
                ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q), step=0.01)
            ),
        )
        torques.clear()


def odometry(rng: random.Random) -> Odometry:
    message = Odometry(child_frame_id=rng.choice(TEXTS))
    message.header.frame_id = rng.choice(TEXTS)
    message.header.stamp.sec = rng.choice((0, -1, 2**31 - 1, -(2**31)))
    message.header.stamp.nanosec = rng.choice((0, 10**9, 2**32 - 1))
    pose, twist = message.pose.pose, message.twist.twist
    for part in (pose.position, pose.orientation, twist.linear, twist.angular):
        for name in part.get_fields_and_field_types():
            setattr(part, name, rng.choice(NUMBERS))
    return message


def clock(rng: random.Random) -> Clock:
    message = Clock()
    message.clock.sec = rng.randrange(-(2**31), 2**31)
    message.clock.nanosec = rng.randrange(2**32)
    return message


def mutated(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        changed[rng.randrange(4, len(changed))] = rng.randrange(256)
    return bytes(changed[: rng.randrange(4, len(changed) + 1)] if rng.random() < 0.3 else changed)


@pytest.mark.parametrize('as_bytes', [False, True], ids=['messages', 'bytes'])
@pytest.mark.parametrize(('topic', 'make'), [('/odom', odometry), ('/clock', clock)])
def test_nonsense_in_odometry_and_the_clock_is_refused(ros, sound, topic, make, as_bytes):
    ros.publish('/robot_description', String(data=ARM), LATCHED)
    assert ros.set_parameter('dynamics_node', 'root_joint', 'floating').successful
    ros.wait_for(lambda: ros.values('dynamics_node').get('degrees of freedom') == '13')
    rng = random.Random(f'{topic} {as_bytes}')
    ros.publish(topic, make(rng), qos_profile_sensor_data)
    publisher = ros._publishers[topic]
    for i in range(FUZZ):
        message = make(rng)
        publisher.publish(mutated(serialize_message(message), rng) if as_bytes else message)
        if i % 10 == 9:
            ros.publish_joint_state(ros.joint_state(NAMES, Q, [1e300] * 7, [-1e308] * 7))
            ros._executor.spin_once(timeout_sec=0.0)
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    base = Odometry(child_frame_id='')
    base.header.frame_id, base.pose.pose.orientation.w = 'odom', 1.0
    robot = Robot.from_urdf(ARM, root_joint='floating', backend='python')
    expected = robot.gravity([0.0] * 6 + [1.0, *Q])[6:]

    def right() -> bool:
        base.header.stamp = ros.next_stamp(0.01)
        ros.publish('/odom', base, qos_profile_sensor_data)
        state = ros.joint_state(NAMES, Q, STILL, ROBOT.gravity(Q), step=0.0)
        ros.publish_joint_state(state)
        return bool(torques)

    ros.wait_for(lambda: torques, meanwhile=right)
    assert_allclose(torques[-1].effort[-7:], expected, atol=SAME)


def parameter(rng: random.Random) -> Parameter:
    return Parameter(
        name=rng.choice(('publish_rate', 'frames', 'gravity', 'use_sim_times', *TEXTS)),
        value=ParameterValue(
            type=rng.randrange(256),
            bool_value=rng.random() < 0.5,
            integer_value=rng.randrange(-(2**63), 2**63),
            double_value=rng.choice(NUMBERS),
            string_value=rng.choice(TEXTS),
            byte_array_value=[bytes([rng.randrange(256)])],
            double_array_value=[rng.choice(NUMBERS) for _ in range(rng.randrange(4))],
            string_array_value=[rng.choice(TEXTS)],
        ),
    )


@pytest.mark.parametrize(
    ('kind', 'service'),
    [
        (SetParameters, 'set_parameters'),
        (SetParametersAtomically, 'set_parameters_atomically'),
        (GetParameters, 'get_parameters'),
        (GetParameterTypes, 'get_parameter_types'),
        (DescribeParameters, 'describe_parameters'),
        (ListParameters, 'list_parameters'),
    ],
)
def test_nonsense_about_parameters_is_answered(ros, sound, kind, service):
    rng = random.Random(service)
    name = f'/kinematics_node/{service}'
    ros.call(kind, name)
    futures = []
    for i in range(FUZZ // 4):
        if kind in (SetParameters, SetParametersAtomically):
            request = kind.Request(parameters=[parameter(rng) for _ in range(rng.randrange(4))])
        elif kind is ListParameters:
            request = kind.Request(prefixes=[rng.choice(TEXTS)], depth=rng.randrange(2**64))
        else:
            request = kind.Request(names=[rng.choice(TEXTS) for _ in range(rng.randrange(4))])
        if i % 2:
            data = serialize_message(request)
            try:  # what is sent as bytes is what a client can make of bytes
                request = deserialize_message(mutated(data, rng), kind.Request)
            except Exception:
                continue
        futures.append(ros.ask(name, request))
        ros.wait_for(futures[-1].done)
    assert len(futures) > FUZZ // 10
    for future in futures:
        for result in getattr(future.result(), 'results', ()):
            assert result.successful or result.reason
