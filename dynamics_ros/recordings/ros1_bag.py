# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of ROS 1 bags in format 2.0 that holds only a few chunks in memory.

The reader of rosbags keeps an index entry for each message: most of a gigabyte for an hour at
1 kHz. This reader works on chunks of about a thousand messages. The index at the end of a bag
contains position, time and connections of each chunk; only chunks with overlapping times are held
at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .ros1_records import (
    BAG_HEADER,
    CHUNK,
    CHUNK_INFO,
    CONNECTION,
    PAIR,
    U64,
    Ros1BagError,
    Source,
    at_byte,
    decompressed,
    records,
)

MAGIC, VERSION = b'#ROSBAG V', b'#ROSBAG V2.0\n'

Message = tuple[int, int, int, int, bytes]
"""Message as sort key: time [ns]; for equal times rank of the connection, number of the chunk,
position in it; bytes."""


class Connection(NamedTuple):
    """Publisher on a topic; a topic may have several.

    Attributes:
        id: number that messages refer to.
        topic, msgtype: name and type, such as ``sensor_msgs/msg/JointState``.
        definition, digest: text of the type definition, and its MD5 sum.
        msgcount: number of messages.
    """

    id: int
    topic: str
    msgtype: str
    definition: str
    digest: str
    msgcount: int = 0


class _Chunk(NamedTuple):
    """Index entry of a chunk.

    Attributes:
        begin: time of its first message [ns].
        number: number in the index.
        place: position of its record in the file [bytes].
        end: upper bound of the end of its record [bytes].
        counts: number of messages per connection id.
    """

    begin: int
    number: int
    place: int
    end: int
    counts: dict[int, int]


def is_ros1(path: Path) -> bool:
    """Whether a file is a ROS 1 bag or has the extension of one.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open('rb') as file:
        return path.suffix == '.bag' or file.read(len(MAGIC)) == MAGIC


class Ros1Bag:
    """A ROS 1 bag open for reading.

    Attributes:
        connections: in the order of the index.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file and reads the index.

        Raises:
            Ros1BagError: the file is no bag, has another format, was not closed, or is damaged.
            OSError: the file cannot be read.
        """
        self._file = path.open('rb')
        try:
            self._size = path.stat().st_size
            self.connections, self._chunks = self._index()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def messages(
        self, connections: Sequence[Connection]
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yields connection, time of recording [ns] and bytes of messages in recorded order.

        Args:
            connections: connections to read; messages of the same time are ordered as these.

        Raises:
            Ros1BagError: the bag is damaged.
        """
        ranks = {one.id: rank for rank, one in enumerate(connections)}
        waiting: list[Message] = []
        for chunk in sorted(self._chunks):
            if not any(chunk.counts.get(number) for number in ranks):
                continue
            due = bisect_left(waiting, (chunk.begin,))
            for time, rank, _, _, data in waiting[:due]:
                yield connections[rank], time, data
            waiting = sorted(waiting[due:] + self._messages(chunk, ranks))
        for time, rank, _, _, data in waiting:
            yield connections[rank], time, data

    def _index(self) -> tuple[list[Connection], list[_Chunk]]:
        """Reads connections and chunks from the records after the chunks."""
        self._check_version()
        header = Source(self._file, len(VERSION), self._size).header(BAG_HEADER)
        if header.fields.get(b'encryptor'):
            raise Ros1BagError('encrypted')
        place = header.number(b'index_pos', U64)
        if not place:
            raise Ros1BagError('has no index, as it was not closed; rosbag reindex makes one')
        if place > self._size:
            raise Ros1BagError(
                f'cut off at byte {self._size}, its index was at byte {place}; rosbag reindex '
                'makes one'
            )
        source = Source(self._file, place, self._size)
        found = [_connection(source) for _ in range(header.number(b'conn_count'))]
        infos = [_chunk_info(source) for _ in range(header.number(b'chunk_count'))]
        if source.left:
            raise Ros1BagError(f'{source.left} bytes behind its index')
        connections = {one.id: one for one in found}
        places = sorted(one.place for one in infos)
        ends = dict(zip(places, [*places[1:], place], strict=True))
        if len(connections) < len(found) or len(ends) < len(infos) or max(ends, default=0) >= place:
            raise Ros1BagError('its index is inconsistent')
        for info in infos:
            for number, count in info.counts.items():
                if number not in connections:
                    raise Ros1BagError(f'its index tells of messages of no connection, {number}')
                one = connections[number]
                connections[number] = one._replace(msgcount=one.msgcount + count)
        chunks = [
            _Chunk(one.begin, number, one.place, ends[one.place], one.counts)
            for number, one in enumerate(infos)
        ]
        return list(connections.values()), chunks

    def _check_version(self) -> None:
        """Raises ``Ros1BagError`` if the file is no bag in format 2.0."""
        start = self._file.read(len(VERSION))
        if start.startswith(MAGIC) and start != VERSION:
            version = start.removeprefix(MAGIC).decode(errors='replace').strip()
            raise Ros1BagError(f'a bag of ROS 1 in format {version}, of which only 2.0 is read')
        if start != VERSION:
            raise Ros1BagError(f'no bag of ROS 1, which begins with {VERSION.decode().strip()}')

    def _messages(self, chunk: _Chunk, ranks: dict[int, int]) -> list[Message]:
        """Returns the messages of some connections in a chunk.

        Args:
            chunk: chunk to read.
            ranks: ranks of the connections by their ids.
        """
        place = chunk.place
        source = Source(self._file, place, chunk.end)
        header = source.header(CHUNK)
        size, compression = header.number(b'size'), header.text(b'compression')
        data = decompressed(source.data(), compression, size, place)
        known = {one.id for one in self.connections}
        found: list[Message] = []
        for number, time, begin, end in records(data, place):
            rank = ranks.get(number)
            if rank is not None:
                if time < chunk.begin:
                    raise Ros1BagError(f'{at_byte(place)} begins earlier than its index tells')
                found.append((time, rank, chunk.number, begin, data[begin:end]))
            elif number not in known:
                raise Ros1BagError(f'{at_byte(place)} has a message of no connection, {number}')
        return found


class _ChunkInfo(NamedTuple):
    """Record of the index about a chunk; fields as in ``_Chunk``."""

    place: int
    begin: int
    counts: dict[int, int]


def _connection(source: Source) -> Connection:
    header = source.header(CONNECTION)
    number, topic = header.number(b'conn'), header.text(b'topic')
    # The data contain the connection header that the publisher sent to its subscribers.
    header = source.connection_header()
    root = '/' if topic.startswith('/') else ''
    kind = header.text(b'type').split('/')
    return Connection(
        number,
        root + '/'.join(filter(None, topic.split('/'))),
        f'{kind[0]}/msg/{kind[-1]}',
        header.text(b'message_definition'),
        header.text(b'md5sum'),
    )


def _chunk_info(source: Source) -> _ChunkInfo:
    header = source.header(CHUNK_INFO)
    version, count = header.number(b'ver'), header.number(b'count')
    if version != 1:
        raise Ros1BagError(f'version {version} of a record of its index, of which only 1 is read')
    place, begin = header.number(b'chunk_pos', U64), header.time()
    data = source.data()
    if len(data) != count * PAIR.size:
        raise Ros1BagError('its index is damaged')
    return _ChunkInfo(place, begin, dict(PAIR.iter_unpack(data)))
