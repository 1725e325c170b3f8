# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reads serialized joint states directly, without message objects.

Joint states arrive a thousand times a second and more, and creating message objects costs several
times as much as reading the numbers. The layout is Common Data Representation (OMG DDS-XTypes 1.3,
7.4: XCDR version 1, plain): every number is aligned to its own size, counted from the end of the
four bytes of encapsulation; a string is its length, which includes the closing zero, and its bytes;
a sequence is its length and its elements.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation.samples.reports import NANOSECONDS, Array, JointValues

from .conversions import joint_values

ENCAPSULATION = 4
"""Size of the encapsulation in front of the body [bytes]; alignment is counted from its end."""

STAMP = struct.Struct('=iI')
"""Seconds and nanoseconds of a stamp, in the byte order of this machine."""

STAMP_END = ENCAPSULATION + STAMP.size
"""End of the stamp in a message that begins with a header [bytes]."""

MAX_SURPLUS = 32
"""Maximum surplus after the last field [bytes]; middleware reserves 8 for an empty sequence."""

MAX_NAMES = 4096
"""Maximum number of names in a joint state; a robot has some dozens."""

MAX_LAYOUTS = 8
"""Number of cached layouts; each publisher of a topic usually has one."""

SIZES = {
    **dict.fromkeys(('boolean', 'octet', 'char', 'byte', 'int8', 'uint8'), 1),
    **dict.fromkeys(('int16', 'uint16'), 2),
    **dict.fromkeys(('int32', 'uint32', 'float'), 4),
    **dict.fromkeys(('int64', 'uint64', 'double'), 8),
}


def packed_stamp(stamp: int) -> bytes:
    """Pack a stamp [ns] as ``STAMP``."""
    return STAMP.pack(*divmod(stamp, NANOSECONDS))


class MalformedMessageError(DynamicsRosError):
    """Serialized bytes are not a valid message of the expected type."""


class Layout:
    """Positions of the fields in serialized joint states with certain names and lengths.

    Attributes:
        names: names of the joints.
    """

    def __init__(
        self,
        data: bytes,
        fields: struct.Struct,
        arrays: tuple[tuple[int, int], ...],
        order: str,
        names: tuple[str, ...],
    ) -> None:
        """Derive the layout from its first message.

        Args:
            data: the message.
            fields: struct of all bytes except the numbers and the padding, which middleware leaves
                uninitialized.
            arrays: offset [bytes] and length of the arrays of position, velocity and effort.
            order: byte order of the numbers, '<' or '>'.
            names: names of the joints.
        """
        self.names = names
        self._size = len(data)
        self._fields = fields
        self._head, _, _, *self._constants = fields.unpack_from(data)
        self._order = order
        self._native = np.dtype(f'{order}f8').isnative
        self._arrays = arrays
        self._number = np.dtype(f'{order}f8')
        # ``_whole`` reads the bytes before, between and after the arrays, padding included.
        ends = [begin + 8 * count for begin, count in arrays]
        begins = [begin for begin, _ in arrays]
        sizes = [count for _, count in arrays]
        format_ = f'{order}{ENCAPSULATION}siI'
        for begin, end, count in zip([STAMP_END, *ends], [*begins, len(data)], [*sizes, 0]):
            format_ += f'{end - begin}s{8 * count}x'
        self._whole = struct.Struct(format_)
        self._store_bytes(data)
        self._constant_offsets = _find_constants(fields.format)
        # The length of the next array, with padding, takes as many bytes as one number, so the
        # three arrays are one array with two foreign numbers.
        each = len(names)
        block = each and sizes == [each] * 3 and self._native
        self._block = sum(sizes) + 2 if block else 0

    def read(self, data: bytes) -> JointValues | None:
        """Read a message; return None if it has another layout.

        The arrays of the result share memory with ``data``.
        """
        if len(data) != self._size:
            return None
        head, seconds, nanoseconds, *between = self._whole.unpack(data)
        # Fast path: usually all bytes equal those of the last message, padding included.
        if between != self._last_bytes or head != self._head:
            head, _, _, *constants = self._fields.unpack_from(data)
            if head != self._head or constants != self._constants:
                return None
            self._store_bytes(data)
        if self._block:
            block = np.frombuffer(data, np.float64, self._block, self._arrays[0][0])
            size = self._block // 3
            position, velocity, effort = block[:size], block[size + 1 : -size - 1], block[-size:]
            return JointValues(seconds, nanoseconds, self.names, position, velocity, effort, block)
        position, velocity, effort = (
            np.frombuffer(data, self._number, count, begin) for begin, count in self._arrays
        )
        if not self._native:
            position, velocity, effort = (x.astype(float) for x in (position, velocity, effort))
        return JointValues(seconds, nanoseconds, self.names, position, velocity, effort)

    def read_all(self, messages: Sequence[bytes]) -> JointValues | None:
        """Read several messages, the first of which has this layout; None if another has not.

        The arrays of the result have one row for each message.
        """
        count, size = len(messages), self._size
        data = b''.join(messages)
        if len(data) != count * size:
            return None
        rows = np.frombuffer(data, np.uint8).reshape(count, size)
        constants = rows[:, self._constant_offsets]
        if not (constants == constants[0]).all():
            return None
        seconds, nanoseconds = (
            rows[:, begin : begin + 4].copy().view(f'{self._order}{kind}4')[:, 0].astype(np.int64)
            for begin, kind in ((ENCAPSULATION, 'i'), (ENCAPSULATION + 4, 'u'))
        )
        number = self._number

        def numbers(begin: int, width: int) -> Array:
            return np.ndarray((count, width), number, data, begin, (size, number.itemsize))

        if self._block:
            block = numbers(self._arrays[0][0], self._block)
            width = self._block // 3
            parts = block[:, :width], block[:, width + 1 : -width - 1], block[:, -width:]
            return JointValues(seconds, nanoseconds, self.names, *parts, block)
        position, velocity, effort = (numbers(*one).astype(float) for one in self._arrays)
        return JointValues(seconds, nanoseconds, self.names, position, velocity, effort)

    def _store_bytes(self, data: bytes) -> None:
        _, _, _, *self._last_bytes = self._whole.unpack(data)


class JointStateReader:
    """Reader of serialized joint states, which caches the layouts of recent messages."""

    def __init__(self) -> None:
        self._layouts: list[Layout] = []
        self._last: Layout | None = None

    def read(self, data: bytes) -> JointValues:
        """Read a joint state.

        Raises:
            MalformedMessageError: the bytes are not a joint state.
        """
        for layout in self._layouts:
            values = layout.read(data)
            if values is not None:
                self._last = layout
                return values
        scanner = Scanner.of(data)
        if scanner is None:
            return joint_values(deserialized(data, JointState))
        layout = _scan_layout(scanner)
        for old in self._layouts:
            if old.names == layout.names:
                # Share the tuple, so that users of the names can compare by identity.
                layout.names = old.names
        self._layouts = [layout, *self._layouts[: MAX_LAYOUTS - 1]]
        self._last, values = layout, layout.read(data)
        assert values is not None, 'a layout reads the message that it was derived from'
        return values

    def read_all(self, messages: Sequence[bytes]) -> JointValues | None:
        """Read several joint states, one row each; return None if their layouts differ.

        Args:
            messages: at least one message.

        Raises:
            MalformedMessageError: the first message is not a joint state.
        """
        self._last = None
        self.read(messages[0])
        return None if self._last is None else self._last.read_all(messages)


class Scanner:
    """Reads the fields of a serialized message in order, with bounds checks.

    Attributes:
        data: the message.
        order: its byte order, '<' or '>'.
        at: offset of the next field [bytes].
        end: end of the last field that may be read [bytes].
        format: formats of the fields so far, for ``struct``.
    """

    def __init__(self, data: bytes, order: str) -> None:
        self.data = data
        self.order = order
        self.at = ENCAPSULATION
        # The last two bits of the encapsulation are the number of padding bytes at the end.
        self.end = len(data) - (data[ENCAPSULATION - 1] & 3)
        self.format = [f'{order}{ENCAPSULATION}s']
        self._length = struct.Struct(f'{order}I')

    @classmethod
    def of(cls, data: bytes) -> Scanner | None:
        """Return a scanner for plain XCDR1 of either byte order; None for other encapsulations.

        Raises:
            MalformedMessageError: the message is too short for an encapsulation.
        """
        if len(data) < ENCAPSULATION:
            raise MalformedMessageError(f'{len(data)} bytes')
        order = {b'\x00\x00': '>', b'\x00\x01': '<'}.get(bytes(data[:2]))
        return None if order is None else cls(data, order)

    def skip(self, count: int) -> int:
        """Advance by ``count`` bytes; return the previous offset.

        Raises:
            MalformedMessageError: the message ends before.
        """
        begin, self.at = self.at, self.at + count
        if self.at > self.end:
            raise MalformedMessageError(f'ends after {self.end} bytes, within a field')
        return begin

    def align(self, size: int) -> None:
        """Advance to the alignment of a number of ``size`` bytes."""
        between = -(self.at - ENCAPSULATION) % size
        self.skip(between)
        self.format.append(f'{between}x')

    def length(self) -> int:
        """Read the length of a string or a sequence."""
        self.align(4)
        self.format.append('4s')
        return int(self._length.unpack_from(self.data, self.skip(4))[0])

    def string(self) -> str:
        """Read a string."""
        size = self.length()
        begin = self.skip(size)
        self.format.append(f'{size}s')
        text, zero, rest = self.data[begin : begin + size].partition(b'\0')
        if rest or (text and not zero):
            raise MalformedMessageError('a string does not end where it should')
        return text.decode(errors='replace')

    def numbers(self) -> tuple[int, int]:
        """Skip a float64[]; return the offset of its numbers [bytes], and their number."""
        count = self.length()
        if count:
            self.align(8)
        begin = self.skip(8 * count)
        self.format.append(f'{8 * count}x')
        return begin, count


def _scan_layout(scanner: Scanner) -> Layout:
    data = scanner.data
    scanner.skip(STAMP_END - ENCAPSULATION)
    scanner.format.append('iI')
    scanner.string()
    count = scanner.length()
    if count > MAX_NAMES:
        raise MalformedMessageError(f'{count} names; at most {MAX_NAMES} are read')
    names = tuple(scanner.string() for _ in range(count))
    arrays = tuple(scanner.numbers() for _ in range(3))
    if len(data) - scanner.at > MAX_SURPLUS:
        raise MalformedMessageError(f'{len(data) - scanner.at} bytes too many')
    fields = struct.Struct(''.join(scanner.format))
    return Layout(bytes(data), fields, arrays, scanner.order, names)


def _find_constants(fields: str) -> NDArray[np.intp]:
    """Return the offsets of the bytes that are equal in all messages of a layout.

    These are neither the stamp, nor numbers, nor padding.

    Args:
        fields: format of the struct that skips numbers and padding.
    """
    offsets: list[int] = []
    at = 0
    for text, kind in re.findall(r'(\d*)([a-zA-Z])', fields):
        size = int(text or 1) * (4 if kind in 'iI' else 1)
        if kind == 's':
            offsets += range(at, at + size)
        at += size
    return np.array(offsets, dtype=np.intp)


def deserialized(data: bytes, kind: Any) -> Any:
    """Deserialize a message of type ``kind`` with the middleware.

    Raises:
        MalformedMessageError: the bytes are not a message of that type.
    """
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # rclpy documents no type of this error
        raise MalformedMessageError(f'encapsulation {data[:2].hex()}: {error}') from None
