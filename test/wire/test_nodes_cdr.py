# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages become arrays and come back; as bytes they say the same; what is none is refused."""

from __future__ import annotations

import itertools
import math
import struct

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Inertia, Pose, Quaternion, Twist, TwistStamped, Vector3, Wrench
from message_values import joint_values, odometry_values
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose, assert_array_equal
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.estimation.samples.reports import planar_base
from dynamics_ros.wire import cdr
from dynamics_ros.wire import conversions as convert
from dynamics_ros.wire.cdr import (
    JointStateReader,
    Layout,
    LayoutError,
    MalformedMessageError,
    OdometryReader,
    Template,
)
from dynamics_ros.wire.conversions import (
    empty_efforts,
    pose_stamped,
    stamped,
    transform_stamped,
)
from dynamics_ros_msgs.msg import ContactState, ExternalWrench

RNG = np.random.default_rng(3)

NAMES = ['a', 'shoulder_pan', 'elbow', 'wrist', 'ü-joint', '']


def joint_state(names=NAMES, position=6, velocity=6, effort=6, frame='base') -> JointState:
    message = JointState(name=list(names))
    message.header.stamp = Time(sec=int(RNG.integers(2**31)), nanosec=int(RNG.integers(10**9)))
    message.header.frame_id = frame
    message.position = RNG.normal(size=position).tolist()
    message.velocity = RNG.normal(size=velocity).tolist()
    message.effort = RNG.normal(size=effort).tolist()
    return message


def assert_same(one, other) -> None:
    assert one[:3] == other[:3]
    for a, b in zip(one[3:6], other[3:6], strict=True):
        assert_array_equal(a, b)
    if one.block is not None:
        size = len(one.names)
        rows = one.block.take([*range(size), *range(size + 1, 2 * size + 1)])
        assert_array_equal(rows, np.concatenate((one.position, one.velocity)))
        assert_array_equal(one.block[2 * size + 2 :], one.effort)


def big_endian(message: JointState, between: bytes = b'\xee') -> bytes:
    """The same message as a machine of the other byte order writes it, padding full of garbage."""
    body = bytearray()

    def number(code: str, value) -> None:
        size = struct.calcsize(code)
        body.extend(between * (-len(body) % size))
        body.extend(struct.pack(f'>{code}', value))

    def string(text: str) -> None:
        data = text.encode() + b'\0'
        number('I', len(data))
        body.extend(data)

    number('i', message.header.stamp.sec)
    number('I', message.header.stamp.nanosec)
    string(message.header.frame_id)
    number('I', len(message.name))
    for name in message.name:
        string(name)
    for field in (message.position, message.velocity, message.effort):
        number('I', len(field))
        for value in field:
            number('d', value)
    return b'\0\0\0\0' + bytes(body)


@pytest.mark.parametrize('frame', ['', 'b', 'base', 'a_long/frame'])
@pytest.mark.parametrize('count', [0, 1, 2, 7])
def test_a_joint_state_is_read_from_bytes_as_from_an_object(frame, count):
    names = [f'joint{"_" * i}' for i in range(count)]
    reader = JointStateReader()
    for sizes in itertools.product({0, count}, repeat=3):
        message = joint_state(names, *sizes, frame=frame)
        for _ in range(2):  # the second time its layout is known
            assert_same(reader.read(serialize_message(message)), joint_values(message))


def test_a_dynamic_joint_state_is_read_from_bytes_as_from_an_object(monkeypatch):
    kinds = pytest.importorskip('control_msgs.msg')
    reader = JointStateReader('dynamic_joint_states')
    told = [
        ('a', ['temperature', 'position']),
        ('sensor', ['voltage']),
        ('b', ['effort', 'velocity', 'position']),
    ]
    deserialize, calls = cdr.deserialize_message, []
    monkeypatch.setattr(
        cdr, 'deserialize_message', lambda *args: calls.append(args) or deserialize(*args)
    )
    for names in (told, told, told[::-1], told[1:2], []):
        message = kinds.DynamicJointState(joint_names=[name for name, _ in names])
        message.header.stamp.sec = 7
        message.interface_values = [
            kinds.InterfaceValue(interface_names=ones, values=RNG.normal(size=len(ones)).tolist())
            for _, ones in names
        ]
        values = reader.read(serialize_message(message))
        rows = [dict(zip(one.interface_names, one.values)) for one in message.interface_values]
        for field, found in zip(cdr.QUANTITIES, values[3:6]):
            assert_array_equal(found, [row.get(field, np.nan) for row in rows if 'position' in row])
        assert values.names == tuple(name for name, ones in names if 'position' in ones)
    assert len(calls) == 4, 'a known layout is read from bytes'
    message.joint_names = ['one too many']
    with pytest.raises(MalformedMessageError, match='as many values as names'):
        reader.read(serialize_message(message))


def test_the_other_byte_order_says_the_same():
    reader = JointStateReader()
    for number in (1.0, math.nan, -math.inf):
        message = joint_state()
        message.position[0] = number
        assert_same(reader.read(big_endian(message)), joint_values(message))
        assert_same(reader.read(serialize_message(message)), joint_values(message))


def test_what_lies_between_the_fields_does_not_matter():
    message = joint_state(['ab', 'cd'], 2, 2, 2, frame='')
    reader = JointStateReader()
    data = bytearray(serialize_message(message))
    first = reader.read(bytes(data))
    layout = Layout(bytes(data), message)
    used = {*layout.constant_offsets, *range(4), *range(layout.size, len(data))}
    used |= {i for field in layout.fields for i in range(field.offset, field.end)}
    padding = set(range(len(data))) - used
    assert padding
    for i in padding:
        data[i] ^= 0xEE
    second = reader.read(bytes(data))
    assert_same(first, second)
    assert first.names is second.names


def test_every_shortened_message_is_refused():
    data = big_endian(joint_state())
    reader = JointStateReader()
    for end in range(len(data)):
        with pytest.raises(MalformedMessageError):
            reader.read(data[:end])


@pytest.mark.parametrize('head', [b'\0\2\0\0', b'\0\7\0\0', b'\xff\xff\xff\xff'])
def test_another_encapsulation_is_left_to_the_middleware_or_refused(head):
    message = joint_state()
    data = head + serialize_message(message)[4:]
    try:
        expected = joint_values(deserialize_message(data, JointState))
    except Exception:
        with pytest.raises(MalformedMessageError, match=head[:2].hex()):
            JointStateReader().read(data)
    else:
        assert_same(JointStateReader().read(data), expected)


def odometry(frame: str = 'map', child: str = 'base', seed: int = 0) -> Odometry:
    rng = np.random.default_rng(seed)
    message = Odometry(child_frame_id=child)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = 12 + seed, 345
    p, o, twist = message.pose.pose.position, message.pose.pose.orientation, message.twist.twist
    p.x, p.y, p.z, o.x, o.y, o.z, o.w = rng.normal(size=7).tolist()
    for part in (twist.linear, twist.angular):
        part.x, part.y, part.z = rng.normal(size=3).tolist()
    message.pose.covariance, message.twist.covariance = rng.normal(size=(2, 36))
    return message


def test_odometry_is_read_from_bytes_as_from_an_object():
    reader = OdometryReader()
    for seed, frame in enumerate(('', 'b', 'map', 'map', 'odom_frame')):
        for child in ('', 'base', 'a_long/name', 'ü'):
            for message in (odometry(frame, child, seed), odometry(frame, child, seed + 9)):
                assert reader.read(serialize_message(message)) == odometry_values(message)


@pytest.mark.parametrize('known', [False, True])
def test_bytes_that_are_no_odometry_are_refused(known):
    data, reader = serialize_message(odometry()), OdometryReader()
    endless = data[:12] + b'\xff' * 40
    for broken in (*(data[:size] for size in range(0, len(data), 7)), endless, data + bytes(100)):
        if known:
            reader.read(data)
        with pytest.raises(MalformedMessageError):
            reader.read(broken)


# --- what goes out ------------------------------------------------------------------------------

JOINTS = ['a', 'bcd', 'ef']
ZEROS = [0.0] * 3
STATE = ContactState(
    **{'link': 'wrist', 'point_frame_id': 'wrist', 'joint_names': JOINTS},
    **{f'{name}_thresholds': ZEROS for name in ('contact', 'collision')},
    external_torques=ZEROS,
)
ESTIMATE = ExternalWrench(
    **{'frame': 'tool', 'joint_names': JOINTS, 'stale_joints': ['odom', 'bcd']},
    **{'singular_values': [0.0] * 6, 'tare_offset': ZEROS},
)
STATE_FIELDS = (
    *('state', 'point_known', 'collision_latched', 'external_torques', 'contact_thresholds'),
    *('collision_thresholds', 'link_probability', 'misfit', 'point', 'normal', 'force'),
)
ESTIMATE_FIELDS = (
    *('wrench', 'reference_point', 'covariance', 'singular_values', 'observable', 'degraded'),
    'tare_offset',
)
FLAGS = {'state', 'point_known', 'collision_latched', 'observable', 'degraded'}
FORMS = {
    'twist': (stamped(TwistStamped, Time(), '', np.zeros(6)), ('twist',)),
    'efforts': (empty_efforts(NAMES), ('effort',)),
    'commands': (Float64MultiArray(data=[0.0] * 5), ('data',)),
    'tf': (
        TFMessage(
            transforms=[transform_stamped(Time(), 'base', 'x' * i, np.eye(4)) for i in range(9)]
        ),
        tuple(f'transforms.{i}.transform' for i in range(9)),
    ),
    'state': (STATE, STATE_FIELDS),
    'estimate': (ESTIMATE, ESTIMATE_FIELDS),
}


def numbers_of(value):
    """All numbers of a field, or of the message in it."""
    if hasattr(value, 'get_fields_and_field_types'):
        value = [getattr(value, name) for name in value.get_fields_and_field_types()]
    if isinstance(value, (bool, int, float)):
        return [float(value)]
    return [number for one in value for number in numbers_of(one)]


def field_of(message, path):
    for step in path.split('.'):
        message = message[int(step)] if step.isdigit() else getattr(message, step)
    return message


@pytest.mark.parametrize('name', FORMS)
def test_bytes_that_are_filled_in_are_the_message_that_is_filled_in(name):
    prototype, paths = FORMS[name]
    kind = type(prototype)
    template = Template(prototype, paths)
    kept = [numbers.copy() for numbers in template.numbers]
    assert deserialize_message(template.packed(), kind) == prototype
    for _ in range(3):
        values = [
            RNG.integers(2, size=one.size) if path in FLAGS else RNG.normal(size=one.size)
            for path, one in zip(paths, kept, strict=True)
        ]
        for numbers, value in zip(template.numbers, values, strict=True):
            numbers[:] = value
        stamp = int(RNG.integers(2**31)), int(RNG.integers(10**9))
        message = deserialize_message(template.message(cdr.STAMP.pack(*stamp)), kind)
        for path, value in zip(paths, values, strict=True):
            assert numbers_of(field_of(message, path)) == value.tolist()
        heads = getattr(message, 'transforms', [message])
        for head in [one.header for one in heads if hasattr(one, 'header')]:
            assert (head.stamp.sec, head.stamp.nanosec) == stamp
    # Nothing else has changed.
    for numbers, value in zip(template.numbers, kept, strict=True):
        numbers[:] = value
    message = deserialize_message(template.message(cdr.STAMP.pack(0, 0)), kind)
    assert message == prototype


def test_a_middleware_that_serializes_otherwise_is_named(monkeypatch):
    serialize = cdr.serialize_message
    monkeypatch.setattr(cdr, 'serialize_message', lambda m: serialize(m)[:12] + serialize(m)[8:])
    with pytest.raises(LayoutError, match='PoseStamped: fields stand elsewhere'):
        Template(pose_stamped(Time(), 'base', np.eye(4)), ('pose',))


# A rotation goes through one square root and a dozen products: a few roundings of 1.1e-16.
ROUNDING = 1e-14


def random_pose(half_turn: bool) -> Pose:
    quaternion = RNG.normal(size=4) * [1.0, 1.0, 1.0, not half_turn]
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    pose = Pose(orientation=Quaternion(x=x, y=y, z=z, w=w))
    pose.position.x, pose.position.y, pose.position.z = RNG.normal(size=3).tolist()
    return pose


def test_a_pose_survives_the_way_to_a_matrix_and_back():
    for k in range(200):
        pose = random_pose(half_turn=k % 4 == 0)
        matrix = convert.pose_matrix(pose, 'pose')
        back = convert.pose_message(matrix)
        assert_allclose(convert.pose_matrix(back, 'pose'), matrix, atol=ROUNDING)
        assert back.orientation.w >= 0.0


@pytest.mark.parametrize('scale', [0.0, 0.5, 1.01, 2.0])
def test_a_quaternion_that_is_not_of_unit_length_is_refused(scale):
    pose = Pose(orientation=Quaternion(x=0.0, y=0.0, z=0.0, w=scale))
    with pytest.raises(InvalidArgumentError, match=r'target\.orientation.*unit quaternion'):
        convert.pose_matrix(pose, 'target')


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_by_field_name(bad):
    pose = Pose()
    pose.position.y = bad
    with pytest.raises(InvalidArgumentError, match=r'target\.position'):
        convert.pose_matrix(pose, 'target')
    with pytest.raises(InvalidArgumentError, match='push'):
        convert.numbers(Vector3(x=bad), 'push')
    with pytest.raises(InvalidArgumentError, match='twist'):
        convert.numbers(Twist(angular=Vector3(z=bad)), 'twist')
    with pytest.raises(InvalidArgumentError, match=r'payload\.m'):
        convert.inertia_arrays(Inertia(m=bad), 'payload')


def test_six_vectors_are_linear_first():
    twist = Twist(linear=Vector3(x=1.0, y=2.0, z=3.0), angular=Vector3(x=4.0, y=5.0, z=6.0))
    values = convert.numbers(twist, 'twist')
    assert values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert convert.fill(Twist(), values) == twist
    wrench = convert.fill(Wrench(), values)
    assert (wrench.force.x, wrench.torque.z) == (1.0, 6.0)


def test_stamps_and_durations_are_exact_integers():
    assert convert.nanoseconds(Time(sec=1_700_000_000, nanosec=1)) == 1_700_000_000_000_000_001
    assert convert.duration_message(0.25) == Duration(sec=0, nanosec=250_000_000)


def test_an_inertia_is_symmetric_and_survives():
    message = Inertia(
        m=1.5, com=Vector3(x=0.1), ixx=1.0, ixy=0.1, ixz=0.2, iyy=2.0, iyz=0.3, izz=3.0
    )
    mass, center, inertia = convert.inertia_arrays(message, 'inertia')
    assert_allclose(inertia, inertia.T)
    assert convert.inertia_message(mass, center, inertia) == message


def test_a_planar_base_is_its_place_and_heading_and_stays_in_its_plane():
    pose = Pose(orientation=Quaternion(z=math.sin(0.6), w=math.cos(0.6)))
    pose.position.x, pose.position.y = 1.0, 2.0
    assert_allclose(planar_base(convert.pose_values(pose), 'pose'), [1.0, 2.0, 1.2], atol=ROUNDING)
    pose.position.z = 0.5
    with pytest.raises(InvalidArgumentError, match='plane'):
        planar_base(convert.pose_values(pose), 'pose')
