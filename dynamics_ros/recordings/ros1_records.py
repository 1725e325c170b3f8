# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of the records of ROS 1 bags in format 2.0 (wiki.ros.org/Bags/Format/2.0).

A record consists of a header (length, then fields ``name=value``, each with a length) and data
(length, then bytes). All lengths are checked against their surroundings, and decompression stops if
a chunk exceeds its stated size.
"""

from __future__ import annotations

import struct
from bz2 import BZ2Decompressor
from collections.abc import Iterator
from typing import BinaryIO

from dynamics_ros.errors import DynamicsRosError

MESSAGE, BAG_HEADER, CHUNK, CHUNK_INFO, CONNECTION = 2, 3, 5, 6, 7
"""Types of records, their field ``op``."""

MAX_HEADER = 1 << 16
"""Maximum length of a header [bytes]; recorders write less than 200, or more with long topic
names."""

FIRST_PIECE = 1 << 20
"""Initial size of decompressed pieces, after each of which the size of a chunk is checked
[bytes]."""

MESSAGE_HEAD = 46
"""Length of a message record before its data, with the fields ``op``, ``conn`` and ``time``
[bytes]."""

U32, U64, PAIR = struct.Struct('<I'), struct.Struct('<Q'), struct.Struct('<II')

NANOSECONDS = 10**9


class Ros1BagError(DynamicsRosError):
    """Raised for a file that is no valid ROS 1 bag in format 2.0."""


class Header:
    """Header of a record.

    Attributes:
        fields: values by name.
    """

    def __init__(self, data: bytes, name: str) -> None:
        """Parses the fields.

        Args:
            data: bytes of the header.
            name: name of the record in errors.
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
        """Returns the value of a numeric field."""
        return int(form.unpack(self._value(field, form.size))[0])

    def time(self) -> int:
        """Returns the time of a message, or of the first message of a chunk [ns]."""
        field = b'time' if b'time' in self.fields else b'start_time'
        seconds, rest = PAIR.unpack(self._value(field, PAIR.size))
        return int(seconds) * NANOSECONDS + int(rest)

    def text(self, field: bytes) -> str:
        """Returns the value of a text field."""
        return self._value(field).decode(errors='replace')

    def kind(self) -> int:
        """Returns the type of the record."""
        return self._value(b'op', 1)[0]

    def _value(self, field: bytes, size: int | None = None) -> bytes:
        value = self.fields.get(field)
        if value is None or (size is not None and len(value) != size):
            raise Ros1BagError(f'{self._name} has no valid field {field.decode()}')
        return value


class Source:
    """Reads consecutive records of a file within a byte range."""

    def __init__(self, file: BinaryIO, place: int, end: int) -> None:
        """Moves to the first record at ``place``; no record may exceed ``end`` [bytes]."""
        file.seek(place)
        self._file, self._end = file, end
        self.left = end - place

    def header(self, kind: int) -> Header:
        """Reads the header of a record of the given type; its data follow."""
        name = self._name
        header = Header(self.data(MAX_HEADER), name)
        if header.kind() != kind:
            raise Ros1BagError(f'{name} is of kind {header.kind()}, where one of {kind} has to be')
        return header

    def connection_header(self) -> Header:
        """Reads data that contain a header, as those of connections."""
        return Header(self.data(), self._name)

    def data(self, max_length: int | None = None) -> bytes:
        """Reads a length and that many bytes; raises if the length exceeds ``max_length``."""
        name = self._name
        (length,) = U32.unpack(self._read(U32.size, name))
        if max_length is not None and length > max_length:
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
    """Yields connection id, time [ns], begin and end of the message data in a chunk.

    Args:
        data: decompressed chunk.
        place: position of the chunk in the file, for errors [bytes].
    """
    at, size = 0, len(data)
    layout: _Layout | None = None
    while at < size:
        found = layout.read(data, at) if layout is not None else None
        if found is None:
            begin = at + U32.size
            length = U32.unpack_from(data, at)[0] if begin <= size else size
            end = begin + length
            if end + U32.size > size or length > MAX_HEADER:
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
    """Layout of message headers with a fixed field order, which are parsed in one call."""

    def __init__(self, form: struct.Struct, before: bytes, between: bytes) -> None:
        self._form, self._before, self._between = form, before, between

    @classmethod
    def of(cls, head: bytes) -> _Layout | None:
        """Returns the layout of a message record before its data; None for unusual fields."""
        number, time = head.find(b'conn='), head.find(b'time=')
        if len(head) != MESSAGE_HEAD or not 0 < number < time or time + 17 != len(head):
            return None
        before, between = head[: number + 5], head[number + 9 : time + 5]
        return cls(struct.Struct(f'<{len(before)}sI{len(between)}sIII'), before, between)

    def read(self, data: bytes, at: int) -> tuple[int, int, int, int] | None:
        """Returns connection id, time [ns], begin and length of the data; None if different."""
        begin = at + self._form.size
        if begin > len(data):
            return None
        before, number, between, seconds, rest, length = self._form.unpack_from(data, at)
        if before != self._before or between != self._between:
            return None
        return number, seconds * NANOSECONDS + rest, begin, length


def decompressed(data: bytes, compression: str, size: int, place: int) -> bytes:
    """Returns the decompressed bytes of a chunk.

    Args:
        data: bytes in the file.
        compression: 'none', 'bz2' or 'lz4'.
        size: stated size of the chunk [bytes].
        place: position of the chunk in the file, for errors [bytes].
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
    """Returns the bytes in parts, at most one byte too many, and whether the end was reached."""
    if compression == 'bz2':
        decompressor = BZ2Decompressor()
    elif compression == 'lz4':
        # Installed together with rosbags.
        from lz4.frame import LZ4FrameDecompressor

        decompressor = LZ4FrameDecompressor()
    else:
        raise ValueError(f'unknown compression {compression!r}')
    parts: list[bytes] = []
    count = 0
    while not decompressor.eof and count <= size:
        # Growing parts, because each call copies the remaining compressed data.
        part = decompressor.decompress(data, min(size + 1 - count, max(FIRST_PIECE, count)))
        if not part and not decompressor.eof:
            break
        parts.append(part)
        count, data = count + len(part), b''
    return parts, decompressor.eof


def at_byte(place: int) -> str:
    """Returns the name of a chunk in errors."""
    return f'the chunk at byte {place}'
