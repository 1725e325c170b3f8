# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states of ROS 1 as the bytes that ROS 2 has for the same message.

ROS 1 writes one field behind the other: a sequence number, the stamp, a string as its length and
its bytes, an array as its length and its numbers. ROS 2 writes Common Data Representation: four
bytes of encapsulation, no sequence number, strings with a closing zero, numbers aligned to their
size.
"""

from __future__ import annotations

import struct

STAMP = slice(4, 12)
"""Behind the sequence number."""

ENCAPSULATION = b'\x00\x01\x00\x00'
"""Plain, the lower bytes first."""

REMEMBERED = 8
"""Layouts: one a publisher on the topic."""

LENGTH = struct.Struct('<I')


class JointStateConverter:
    """Converts joint states; what only the first of a layout tells is read once."""

    def __init__(self) -> None:
        self._layouts: list[_Layout] = []

    def __call__(self, data: bytes) -> bytes:
        """The message in the bytes of ROS 2.

        Raises:
            ValueError: the message ends within a field.
        """
        for layout in self._layouts:
            converted = layout.converted(data)
            if converted is not None:
                return converted
        layout = _Layout(data)
        self._layouts = [layout, *self._layouts[: REMEMBERED - 1]]
        converted = layout.converted(data)
        assert converted is not None, 'a layout fits what it was made of'
        return converted


class _Layout:
    """Where the numbers are in joint states with these names and lengths."""

    def __init__(self, data: bytes) -> None:
        scanner = _Scanner(data)
        head = bytearray(ENCAPSULATION + data[STAMP])
        _append_string(head, scanner.string())
        count = scanner.length()
        _append_length(head, count)
        for _ in range(count):
            _append_string(head, scanner.string())
        self._size, self._names = len(data), data[STAMP.stop : scanner.at]
        self._lengths: list[tuple[slice, bytes]] = []
        parts: list[tuple[bytes, slice]] = []
        begin = len(ENCAPSULATION) + STAMP.stop - STAMP.start
        for _ in range(3):
            before = scanner.at
            count = scanner.length()
            self._lengths.append((slice(before, scanner.at), data[before : scanner.at]))
            _append_length(head, count)
            if count:
                head += bytes(-(len(head) - len(ENCAPSULATION)) % 8)
            numbers = scanner.skip(8 * count)
            parts.append((bytes(head[begin:]), numbers))
            head += data[numbers]
            begin = len(head)
        self._parts = parts

    def converted(self, data: bytes) -> bytes | None:
        """A message; None if it is laid out otherwise."""
        if len(data) != self._size or not data.startswith(self._names, STAMP.stop):
            return None
        if any(data[place] != length for place, length in self._lengths):
            return None
        parts = [ENCAPSULATION, data[STAMP]]
        for lead, numbers in self._parts:
            parts += lead, data[numbers]
        return b''.join(parts)


class _Scanner:
    """Goes through the bytes of a message behind its stamp."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, STAMP.stop

    def skip(self, count: int) -> slice:
        """The next bytes."""
        begin, self.at = self.at, self.at + count
        if self.at > len(self._data):
            raise ValueError('a joint state ends within a field')
        return slice(begin, self.at)

    def length(self) -> int:
        """Of a string or an array."""
        return int(LENGTH.unpack(self._data[self.skip(4)])[0])

    def string(self) -> bytes:
        """The bytes of a string."""
        return self._data[self.skip(self.length())]


def _append_length(message: bytearray, count: int) -> None:
    message += bytes(-len(message) % 4) + LENGTH.pack(count)


def _append_string(message: bytearray, text: bytes) -> None:
    _append_length(message, len(text) + 1)
    message += text + b'\0'
