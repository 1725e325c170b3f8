# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion of serialized joint states from the format of ROS 1 to that of ROS 2.

ROS 1 writes the fields one after the other: a sequence number, the stamp, strings and arrays as
their lengths and contents. ROS 2 writes Common Data Representation: four bytes of encapsulation, no
sequence number, strings with a terminating zero, and numbers aligned to their size.
"""

from __future__ import annotations

import struct

STAMP = slice(4, 12)
"""Bytes of the stamp, after the sequence number."""

ENCAPSULATION = b'\x00\x01\x00\x00'
"""Plain CDR, little-endian."""

MAX_LAYOUTS = 8
"""Number of cached layouts; each publisher on the topic needs one."""

LENGTH = struct.Struct('<I')


class JointStateConverter:
    """Converts joint states; layouts of names and array lengths are cached."""

    def __init__(self) -> None:
        self._layouts: list[_Layout] = []

    def __call__(self, data: bytes) -> bytes:
        """Converts a message to the bytes of ROS 2.

        Raises:
            ValueError: the message ends within a field.
        """
        for layout in self._layouts:
            converted = layout.converted(data)
            if converted is not None:
                return converted
        layout = _Layout(data)
        self._layouts = [layout, *self._layouts[: MAX_LAYOUTS - 1]]
        converted = layout.converted(data)
        assert converted is not None, 'a layout fits what it was made of'
        return converted


class _Layout:
    """Byte ranges of the numbers in joint states with given names and array lengths."""

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
        """Returns the converted message; None if its layout is different."""
        if len(data) != self._size or not data.startswith(self._names, STAMP.stop):
            return None
        if any(data[place] != length for place, length in self._lengths):
            return None
        parts = [ENCAPSULATION, data[STAMP]]
        for lead, numbers in self._parts:
            parts += lead, data[numbers]
        return b''.join(parts)


class _Scanner:
    """Reads the fields of a message after its stamp."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, STAMP.stop

    def skip(self, count: int) -> slice:
        """Returns the range of the next ``count`` bytes and skips them."""
        begin, self.at = self.at, self.at + count
        if self.at > len(self._data):
            raise ValueError('a joint state ends within a field')
        return slice(begin, self.at)

    def length(self) -> int:
        """Reads the length of a string or array."""
        return int(LENGTH.unpack(self._data[self.skip(4)])[0])

    def string(self) -> bytes:
        """Reads the bytes of a string."""
        return self._data[self.skip(self.length())]


def _append_length(message: bytearray, count: int) -> None:
    message += bytes(-len(message) % 4) + LENGTH.pack(count)


def _append_string(message: bytearray, text: bytes) -> None:
    _append_length(message, len(text) + 1)
    message += text + b'\0'
