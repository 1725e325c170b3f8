# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags of ROS 1: messages as those of ROS 2, and one line for a file that cannot be read."""

from __future__ import annotations

import random
import struct
import tracemalloc

import numpy as np
import pytest

pytest.importorskip('lz4')
pytest.importorskip('rosbags')

from mutations import mutated_bytes
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_typestore

from dynamics_ros.recordings import bag
from dynamics_ros.recordings.bag import Recording, RecordingError

STORE, ROS2 = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_KILTED)
STRING = 'std_msgs/msg/String'
COMPRESSIONS = {
    'none': None,
    'bz2': Writer.CompressionFormat.BZ2,
    'lz4': Writer.CompressionFormat.LZ4,
}
CHUNK = 400
"""Bytes from which on a chunk is written; messages are shorter."""


def write(path, messages, compression='none', topics=('/a', '/b', '/a'), chunk=CHUNK):
    """A bag.

    Args:
        path: that is written.
        messages: (number of the connection, ns, number of bytes) each, in the order of writing.
        compression: of the chunks.
        topics: of the connections.
        chunk: bytes from which on a chunk is written.
    """
    path.unlink(missing_ok=True)
    writer = Writer(path)
    if COMPRESSIONS[compression] is not None:
        writer.set_compression(COMPRESSIONS[compression])
    writer.chunk_threshold = chunk
    with writer:
        connections = [
            writer.add_connection(topic, STRING, typestore=STORE, callerid=f'/node{k}')
            for k, topic in enumerate(topics)
        ]
        for k, (number, time, size) in enumerate(messages):
            text = STORE.types[STRING](data=f'{k}{"x" * size}')
            writer.write(connections[number], time, STORE.serialize_ros1(text, STRING))
    return path


def read(path, topics):
    """The messages on some topics."""
    with Recording(path) as recording:
        return list(recording.messages(topics))


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('bags')


@pytest.mark.parametrize('frame', ['', 'a', 'baselink'])
@pytest.mark.parametrize('compression', sorted(COMPRESSIONS))
def test_messages_with_a_header_are_the_ones_of_ros_2(folder, frame, compression):
    rng = np.random.default_rng(0)

    def message(store, kind, time, numbers):
        types = store.types
        first = (7,) if store is STORE else ()
        stamp = types['builtin_interfaces/msg/Time'](8, time)
        header = types['std_msgs/msg/Header'](*first, stamp, frame)
        if kind == 'sensor_msgs/msg/JointState':
            # Layouts that change within a topic: names of equal length, and arrays without numbers.
            names = ['elbow' if time % 2 else 'wrist', 'shoulder', 'x'][: 1 + time // 4 % 3]
            some = numbers[: len(names)]
            return types[kind](header, names, some, some[: time // 3 % 3], 2.0 * some)
        zeros = np.zeros(36)
        point = types['geometry_msgs/msg/Point'](*numbers)
        quaternion = types['geometry_msgs/msg/Quaternion'](0.0, 0.0, 0.0, 1.0)
        pose = types['geometry_msgs/msg/Pose'](point, quaternion)
        vector = types['geometry_msgs/msg/Vector3'](*numbers)
        twist = types['geometry_msgs/msg/Twist'](vector, vector)
        pose = types['geometry_msgs/msg/PoseWithCovariance'](pose, zeros)
        twist = types['geometry_msgs/msg/TwistWithCovariance'](twist, zeros)
        return types[kind](header, 'base', pose, twist)

    path = folder / 'stamped.bag'
    path.unlink(missing_ok=True)
    writer, expected = Writer(path), []
    if COMPRESSIONS[compression] is not None:
        writer.set_compression(COMPRESSIONS[compression])
    with writer:
        for topic, kind in (
            ('/joint_states', 'sensor_msgs/msg/JointState'),
            ('/odom', 'nav_msgs/msg/Odometry'),
        ):
            connection = writer.add_connection(topic, kind, typestore=STORE)
            for time in range(40):
                numbers = rng.normal(size=3)
                data = STORE.serialize_ros1(message(STORE, kind, time, numbers), kind)
                writer.write(connection, time, data)
                data = ROS2.serialize_cdr(message(ROS2, kind, time, numbers), kind)
                expected.append((topic, time, bytes(data)))
    with Recording(path) as recording:
        found = list(recording.messages(['/joint_states', '/odom']))
        decoded = [one.header.frame_id for *_, one in recording.decoded(['/odom'])]
    assert sorted(found) == sorted(expected)
    assert [time for _, time, _ in found] == sorted(time for _, time, _ in expected)
    assert decoded == 40 * [frame]


def u32(value):
    return struct.pack('<I', value)


def replaced(old, new):
    """A change of the bytes of a bag."""

    def change(data):
        assert old in data
        return data.replace(old, new, 1)

    return change


def index_position(value):
    """A change of the position of the index, as a recorder that was killed leaves it."""

    def change(data):
        at = data.index(b'index_pos=') + 10
        return data[:at] + struct.pack('<Q', value) + data[at + 8 :]

    return change


REINDEX = 'rosbag reindex'
DAMAGES = {
    'of another kind': (lambda _: b'\x89PNG\r\n\x1a\n' + bytes(100), r'ROSBAG V2\.0'),
    'empty': (lambda _: b'', r'ROSBAG V2\.0'),
    'format 1.2': (replaced(b'V2.0', b'V1.2'), r'V1\.2.*ROSBAG V2\.0'),
    'not closed': (index_position(0), f'not indexed.*{REINDEX}'),
    'cut in its chunks': (lambda data: data[: len(data) // 2 + 1500], f'index.*{REINDEX}'),
    'encrypted': (replaced(b'chunk_count=', b'encryptor=xx'), REINDEX),
    'of an unknown compression': (
        replaced(b'compression=none', b'compression=gzip'),
        "'gzip' is not supported",
    ),
    'with a wrong length of a message': (
        replaced(u32(65) + u32(61), u32(2**20) + u32(61)),
        REINDEX,
    ),
    'with another time than in its index': (
        replaced(b'time=' + struct.pack('<II', 0, 8), b'time=' + struct.pack('<II', 0, 1)),
        f'inconsistent .*{REINDEX}',
    ),
}


@pytest.mark.parametrize('damage', DAMAGES)
def test_what_is_damaged_is_named(folder, damage):
    change, reason = DAMAGES[damage]
    path = write(folder / 'good.bag', [(0, 5 + k, 60) for k in range(8)], 'none', chunk=9999)
    assert len(read(path, ['/a'])) == 8
    path = path.rename(folder / 'changed.bag')
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(RecordingError, match=r'changed\.bag: ') as refusal:
        read(path, ['/a'])
    assert refusal.match(reason)
    assert '\n' not in str(refusal.value)


@pytest.mark.parametrize('compression', ['bz2', 'lz4'])
@pytest.mark.parametrize('size', [900_000, 20_000_000])
def test_a_chunk_that_decompresses_to_much_is_refused(folder, monkeypatch, compression, size):
    monkeypatch.setattr(bag, 'MAXIMUM_CHUNK', 1_000_000)
    path = write(folder / 'bomb.bag', [(0, 1, size)], compression)
    assert path.stat().st_size < 100_000
    if size < bag.MAXIMUM_CHUNK:
        assert len(read(path, ['/a'])) == 1
        return
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError, match=r'larger than 1 MB .*rosbag compress'):
            read(path, ['/a'])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 6 * bag.MAXIMUM_CHUNK


@pytest.mark.parametrize('compression', sorted(COMPRESSIONS))
def test_whatever_is_broken_ends_in_our_error_or_in_messages(folder, compression):
    chance = random.Random(7)
    messages = [(k % 3, 10 * k, 20) for k in range(60)]
    data = write(folder / 'whole.bag', messages, compression).read_bytes()
    # The head is padded with blanks, where no change matters.
    head, rest = data[:100], data[4096:]
    path = folder / 'broken.bag'
    refused = 0
    for _ in range(150):
        if chance.random() < 0.3:
            path.write_bytes(mutated_bytes(head, chance).ljust(4096) + rest)
        else:
            path.write_bytes(data[:4096] + mutated_bytes(rest, chance))
        try:
            with Recording(path) as recording:
                list(recording.messages(['/a', '/b']))
                list(recording.decoded(['/a', '/b']))
        except RecordingError:
            refused += 1
    assert refused > 50
