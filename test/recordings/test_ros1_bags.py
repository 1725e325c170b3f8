# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags of ROS 1: the reader says what the one of rosbags says, and names what it cannot read."""

from __future__ import annotations

import bz2
import random
import struct
import tracemalloc

import pytest

pytest.importorskip('lz4')
pytest.importorskip('rosbags')
pytest.importorskip('hypothesis')

import lz4.frame
from hypothesis import given
from hypothesis import strategies as st
from mutations import mutated_bytes
from rosbags.rosbag1 import Reader, Writer
from rosbags.typesys import Stores, get_typestore

from dynamics_ros.recordings.bag import Recording, RecordingError
from dynamics_ros.recordings.ros1_bag import Ros1Bag
from dynamics_ros.recordings.ros1_records import Ros1BagError, decompressed

STORE = get_typestore(Stores.ROS1_NOETIC)
STRING = 'std_msgs/msg/String'
COMPRESSIONS = {
    'none': None,
    'bz2': Writer.CompressionFormat.BZ2,
    'lz4': Writer.CompressionFormat.LZ4,
}
CHUNK = 400
"""Bytes from which on a chunk is written; messages are shorter."""

MEMORY = 6_000_000
"""Bytes that a reader may take for a bag of some kB, whatever is told in it."""


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
    """What is read, as plain values."""
    bag = Ros1Bag(path)
    try:
        wanted = [one for one in bag.connections if one.topic in topics]
        return [(c.id, c.topic, time, data) for c, time, data in bag.messages(wanted)]
    finally:
        bag.close()


def read_by_rosbags(path, topics):
    """The same by the other reader."""
    with Reader(path) as reader:
        # Of no connections it would read all messages.
        wanted = [one for one in reader.connections if one.topic in topics]
        found = reader.messages(wanted) if wanted else ()
        return [(c.id, c.topic, time, bytes(data)) for c, time, data in found]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp('bags')


@given(
    messages=st.lists(
        # Times of recording that often are the same, and go back.
        st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 90)),
        max_size=60,
    ),
    compression=st.sampled_from(sorted(COMPRESSIONS)),
    topics=st.sets(st.sampled_from(['/a', '/b', '/c'])),
)
def test_messages_are_those_that_rosbags_reads(folder, messages, compression, topics):
    path = write(folder / 'some.bag', messages, compression)
    found = read(path, topics)
    assert found == read_by_rosbags(path, topics)
    assert len(found) == sum('/aba'[1 + number] in ''.join(topics) for number, *_ in messages)
    bag = Ros1Bag(path)
    bag.close()
    with Reader(path) as reader:
        counts = {one.id: one.msgcount for one in reader.connections}
    assert {one.id: one.msgcount for one in bag.connections} == counts


def test_chunks_are_held_only_while_they_overlap(folder):
    count, size = 1200, 20_000
    messages = [(k % 3, 10 * (k ^ 1), size) for k in range(count)]
    path = write(folder / 'long.bag', messages, 'lz4', chunk=100_000)
    bag = Ros1Bag(path)
    tracemalloc.start()
    try:
        times = [time for _, time, _ in bag.messages(bag.connections)]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        bag.close()
    assert times == sorted(10 * k for k in range(count))
    assert most < count * size / 10


def test_chunks_of_other_topics_are_not_read(folder):
    messages = [(number, k, 50) for number in (0, 1) for k in range(100)]
    data = write(folder / 'two.bag', messages, 'bz2', ('/a', '/b')).read_bytes()
    # The bytes of the first chunk, which is of the first topic alone.
    at = data.index(b'BZh9')
    path = folder / 'damaged.bag'
    path.write_bytes(data[: at + 20] + bytes(20) + data[at + 40 :])
    assert len(read(path, ['/b'])) == 100
    with pytest.raises(Ros1BagError, match='cannot be decompressed'):
        read(path, ['/a'])


def test_a_bag_without_messages_has_none(folder):
    path = write(folder / 'empty.bag', [])
    assert read(path, ['/a', '/b']) == []
    with Recording(path) as recording:
        assert recording.count(['/a', '/b']) == 0
        assert list(recording.messages(['/a'])) == []


def test_messages_are_those_of_ros_2_whatever_the_file_is_called(folder):
    messages = [(0, k, 30) for k in range(20)]
    path = write(folder / 'named.bag', messages, 'lz4').rename(folder / 'day.1')
    ros2 = get_typestore(Stores.ROS2_KILTED)
    with Recording(path) as recording:
        assert recording.topics(STRING) == ['/a', '/b']
        found = [(t, time, data) for t, time, data in recording.messages(['/a'])]
        texts = [message.data for *_, message in recording.decoded(['/a'])]
    assert texts == [f'{k}{"x" * 30}' for k in range(20)]
    assert [(topic, time) for topic, time, _ in found] == [('/a', k) for k in range(20)]
    told = [ros2.deserialize_cdr(data, STRING).data for *_, data in found]
    assert told == texts


def u32(value):
    return struct.pack('<I', value)


def field(name, value):
    return u32(len(name) + 1 + len(value)) + name + b'=' + value


def good(compression):
    """The bytes of a bag of one chunk, and where its chunk begins."""

    def made(folder):
        path = write(
            folder / 'good.bag', [(0, 5 + k, 60) for k in range(8)], compression, chunk=9999
        )
        return path.read_bytes()

    return made


def replaced(old, new, which=0):
    """A change of the bytes of a bag."""

    def change(data):
        at = -1
        for _ in range(which + 1):
            at = data.index(old, at + 1)
        return data[:at] + new + data[at + len(old) :]

    return change


def size_told(data):
    """The chunk's field of its size, as it is in the file."""
    at = data.index(b'size=') + 5
    return data[at : at + 4]


DAMAGES = {
    'of another kind': (lambda _: b'\x89PNG\r\n\x1a\n' + bytes(100), 'no bag of ROS 1'),
    'empty': (lambda _: b'', 'no bag of ROS 1'),
    'format 1.2': (replaced(b'V2.0', b'V1.2'), 'in format 1.2, of which only 2.0'),
    'not closed': (
        lambda data: replaced(
            (at := data.index(b'index_pos=')) and data[at : at + 18], b'index_pos=' + bytes(8)
        )(data),
        'was not closed',
    ),
    'cut in its chunks': (lambda data: data[: len(data) // 2 + 1500], 'cut off at byte'),
    'cut in its index': (lambda data: data[:-7], 'longer than there is room'),
    'cut in its head': (lambda data: data[:40], 'longer than there is room'),
    'with more behind': (lambda data: data + b'more', '4 bytes behind its index'),
    'encrypted': (replaced(b'chunk_count=', b'encryptor=xx'), 'encrypted'),
    'of an unknown compression': (
        replaced(b'compression=none', b'compression=gzip'),
        "unknown compression 'gzip'",
    ),
    'with a lying size of a chunk': (
        lambda data: replaced(b'size=' + size_told(data), b'size=' + u32(2**32 - 1))(data),
        'has not the size that is told of it',
    ),
    'with a lying length of a chunk': (
        lambda data: replaced(
            b'size=' + 2 * size_told(data), b'size=' + size_told(data) + u32(2**31)
        )(data),
        'longer than there is room',
    ),
    'with a lying length of a header': (
        lambda data: data[:13] + u32(2**31) + data[17:],
        'record at byte 13 has a header of 2147483648 bytes',
    ),
    'with a lying length of a message': (
        replaced(u32(65) + u32(61), u32(2**30) + u32(61)),
        'message that is longer than the chunk',
    ),
    'with a lying count of connections': (
        replaced(b'conn_count=' + u32(3), b'conn_count=' + u32(2**32 - 1)),
        'of kind 6, where one of 7 has to be',
    ),
    'with a lying count of chunks': (
        replaced(b'chunk_count=' + u32(1), b'chunk_count=' + u32(2**32 - 1)),
        'longer than there is room',
    ),
    'with a message of nobody': (
        replaced(b'conn=' + u32(0), b'conn=' + u32(77), 6),
        'message of no connection, 77',
    ),
    'with a message before its chunk': (
        replaced(b'time=' + struct.pack('<II', 0, 8), b'time=' + struct.pack('<II', 0, 1)),
        'begins earlier than its index tells',
    ),
    'with another record in a chunk': (replaced(b'op=\x02', b'op=\x09'), 'no message'),
}


@pytest.mark.parametrize('damage', DAMAGES)
def test_what_is_damaged_is_named(folder, damage):
    change, reason = DAMAGES[damage]
    path = folder / 'changed.bag'
    path.write_bytes(change(good('none')(folder)))
    tracemalloc.start()
    try:
        with pytest.raises(Ros1BagError, match=reason):
            read(path, ['/a'])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MEMORY
    with pytest.raises(RecordingError, match=r'changed\.bag: '), Recording(path) as recording:
        list(recording.messages(['/a']))


@pytest.mark.parametrize('pack', [bz2.compress, lz4.frame.compress])
@pytest.mark.parametrize('told', [1000, 2**32 - 1])
def test_a_chunk_grows_no_further_than_its_size(pack, told):
    compression = pack.__module__.split('.')[0]
    size = 20_000_000 if told == 1000 else 1000
    packed = pack(bytes(size))
    assert decompressed(packed, compression, size, 0) == bytes(size)
    tracemalloc.start()
    try:
        with pytest.raises(Ros1BagError, match='not the size that is told'):
            decompressed(packed, compression, told, 0)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < MEMORY
    for broken in (packed[:-5], packed[:20], b''):
        with pytest.raises(Ros1BagError, match='the chunk at byte 9'):
            decompressed(broken, compression, size, 9)


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
