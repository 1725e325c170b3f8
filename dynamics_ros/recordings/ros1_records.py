# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records of a bag of ROS 1 in format 2.0 (wiki.ros.org/Bags/Format/2.0).

A record is a header (length, then fields ``name=value`` with a length each) and data (length, then
bytes). No length is believed: none reaches beyond what it lies in, and a chunk does not grow beyond
the size that is told of it.
"""

from __future__ import annotations

import struct
from bz2 import BZ2Decompressor
from collections.abc import Iterator
from typing import BinaryIO

from dynamics_ros.errors import DynamicsRosError

MESSAGE, BAG_HEADER, CHUNK, CHUNK_INFO, CONNECTION = 2, 3, 5, 6, 7
"""Kinds of records, their field ``op``."""

LONGEST_HEADER = 1 << 16
"""Bytes; those of recorders are below 200, with long names of topics."""

PIECE = 1 << 20
"""Bytes of a chunk that are decompressed before it is looked whether there are too many."""

USUAL_HEAD = 46
"""Bytes of a message before its data, with the fields ``op``, ``conn`` and ``time``."""

U32, U64, PAIR = struct.Struct('<I'), struct.Struct('<Q'), struct.Struct('<II')

NANOSECONDS = 10**9


class Ros1BagError(DynamicsRosError):
    """A file that is no bag of ROS 1 in format 2.0, or a damaged one."""


class Header:
    """Fields of a record.

    Attributes:
        fields: by their names.
    """

    def __init__(self, data: bytes, name: str) -> None:
        """Read them.

        Args:
            data: of the header.
            name: of the record, for errors.
        """
        self._name = name
        self.fields: dict[bytes, bytes] = {}
        at, size = 0, len(data)
        while at < size:
            begin = at + U32.size
            at = begin + U32.unpack_from(data, at)[0] if begin <= size else size + 1
            field, sign, value = data[begin:at].partition(b'=')
            if at > size or not sign:
                raise Ros1BagError(f'{name} has a damaged header')
            self.fields[field] = value

    def number(self, field: bytes, form: struct.Struct = U32) -> int:
        """A field that is a number."""
        return int(form.unpack(self._value(field, form.size))[0])

    def time(self) -> int:
        """When a message was recorded, or the first of a chunk [ns]."""
        field = b'time' if b'time' in self.fields else b'start_time'
        seconds, rest = PAIR.unpack(self._value(field, PAIR.size))
        return int(seconds) * NANOSECONDS + int(rest)

    def text(self, field: bytes) -> str:
        """A field that is a text."""
        return self._value(field).decode(errors='replace')

    def kind(self) -> int:
        """Of the record."""
        return self._value(b'op', 1)[0]

    def _value(self, field: bytes, size: int | None = None) -> bytes:
        value = self.fields.get(field)
        if value is None or (size is not None and len(value) != size):
            raise Ros1BagError(f'{self._name} has no valid field {field.decode()}')
        return value


class Source:
    """Records of a file, one after the other, up to a place beyond which none reaches."""

    def __init__(self, file: BinaryIO, place: int, end: int) -> None:
        """Begin at a place."""
        file.seek(place)
        self._file, self._end = file, end
        self.left = end - place

    def header(self, kind: int) -> Header:
        """The header of a record of a kind; its data come next."""
        name = self._name
        header = Header(self.data(LONGEST_HEADER), name)
        if header.kind() != kind:
            raise Ros1BagError(f'{name} is of kind {header.kind()}, where one of {kind} has to be')
        return header

    def greeting(self) -> Header:
        """Data that are a header themselves."""
        return Header(self.data(), self._name)

    def data(self, most: int | None = None) -> bytes:
        """A length, and so many bytes."""
        name = self._name
        (length,) = U32.unpack(self._read(U32.size, name))
        if most is not None and length > most:
            raise Ros1BagError(f'{name} has a header of {length} bytes')
        return self._read(length, name)

    @property
    def _name(self) -> str:
        return f'the record at byte {self._end - self.left}'

    def _read(self, count: int, name: str) -> bytes:
        data = self._file.read(count) if count <= self.left else b''
        if len(data) < count:
            raise Ros1BagError(f'{name} is longer than there is room for it')
        self.left -= count
        return data


def records(data: bytes, place: int) -> Iterator[tuple[int, int, int, int]]:
    """Connection, time [ns], begin and end of the messages in a chunk.

    Args:
        data: of the chunk, decompressed.
        place: of the chunk in the file [bytes].
    """
    at, size = 0, len(data)
    layout: _Layout | None = None
    while at < size:
        found = layout.read(data, at) if layout is not None else None
        if found is None:
            begin = at + U32.size
            length = U32.unpack_from(data, at)[0] if begin <= size else size
            end = begin + length
            if end + U32.size > size or length > LONGEST_HEADER:
                raise Ros1BagError(f'{at_byte(place)} has a record that is longer than the chunk')
            header = Header(data[begin:end], at_byte(place))
            (length,) = U32.unpack_from(data, end)
            begin, kind = end + U32.size, header.kind()
            if kind == MESSAGE:
                number, time = header.number(b'conn'), header.time()
                layout = _Layout.of(data[at:begin])
            elif kind == CONNECTION:
                number = time = -1
            else:
                raise Ros1BagError(f'{at_byte(place)} has a record that is no message')
        else:
            number, time, begin, length = found
        at = begin + length
        if at > size:
            raise Ros1BagError(f'{at_byte(place)} has a message that is longer than the chunk')
        if number >= 0:
            yield number, time, begin, at


class _Layout:
    """Headers of messages whose fields come in the same order, read in one go."""

    def __init__(self, form: struct.Struct, before: bytes, between: bytes) -> None:
        self._form, self._before, self._between = form, before, between

    @classmethod
    def of(cls, head: bytes) -> _Layout | None:
        """As in a message up to its data; None where fields are others, or in another order."""
        number, time = head.find(b'conn='), head.find(b'time=')
        if len(head) != USUAL_HEAD or not 0 < number < time or time + 17 != len(head):
            return None
        before, between = head[: number + 5], head[number + 9 : time + 5]
        return cls(struct.Struct(f'<{len(before)}sI{len(between)}sIII'), before, between)

    def read(self, data: bytes, at: int) -> tuple[int, int, int, int] | None:
        """Connection, time [ns], place and length of the data; None if it looks otherwise."""
        begin = at + self._form.size
        if begin > len(data):
            return None
        before, number, between, seconds, rest, length = self._form.unpack_from(data, at)
        if before != self._before or between != self._between:
            return None
        return number, seconds * NANOSECONDS + rest, begin, length


def decompressed(data: bytes, compression: str, size: int, place: int) -> bytes:
    """The bytes of a chunk.

    Args:
        data: as they are in the file.
        compression: 'none', 'bz2' or 'lz4'.
        size: that the chunk is told to have [bytes].
        place: of the chunk in the file [bytes].
    """
    if compression == 'none':
        parts, whole = [data], True
    else:
        try:
            parts, whole = _decompressed_parts(data, compression, size)
        except (OSError, ValueError, EOFError, RuntimeError, MemoryError) as error:
            raise Ros1BagError(f'{at_byte(place)} cannot be decompressed: {error}') from error
    if not whole or sum(map(len, parts)) != size:
        raise Ros1BagError(f'{at_byte(place)} has not the size that is told of it')
    return b''.join(parts)


def _decompressed_parts(data: bytes, compression: str, size: int) -> tuple[list[bytes], bool]:
    """The bytes in parts, at most one more than there have to be; whether that is the end."""
    if compression == 'bz2':
        decompressor = BZ2Decompressor()
    elif compression == 'lz4':
        # With rosbags, without which nothing is read.
        from lz4.frame import LZ4FrameDecompressor

        decompressor = LZ4FrameDecompressor()
    else:
        raise ValueError(f'unknown compression {compression!r}')
    parts: list[bytes] = []
    count = 0
    while not decompressor.eof and count <= size:
        # Ever larger parts: what is left of the data is copied for each.
        part = decompressor.decompress(data, min(size + 1 - count, max(PIECE, count)))
        if not part and not decompressor.eof:
            break
        parts.append(part)
        count, data = count + len(part), b''
    return parts, decompressor.eof


def at_byte(place: int) -> str:
    """What a chunk is called."""
    return f'the chunk at byte {place}'
