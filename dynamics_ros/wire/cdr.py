# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages as bytes, as the middleware carries them: what conversions is for message objects.

Joint states come in a thousand times a second and more, and turning their bytes into a message
object costs several times what reading the numbers costs. What is here knows the layout: Common
Data Representation (OMG DDS-XTypes 1.3, 7.4: XCDR version 1, plain), where every number is aligned
to its own size counted from the end of the four bytes of encapsulation, a string is its length with
the closing zero and its bytes, and a sequence is its length and its elements.
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
"""Bytes in front of the body; alignment is counted from there."""

STAMP = struct.Struct('=iI')
"""Seconds and nanoseconds of a stamp, in the byte order of this machine."""

STAMP_END = ENCAPSULATION + STAMP.size
"""Of the stamp of a message that begins with a header."""

MAX_SURPLUS = 32
"""Bytes that may follow the last field: middleware overestimates empty sequences, 8 bytes each."""

MAX_NAMES = 4096
"""In one joint state; a robot has some dozens."""

REMEMBERED = 8
"""Layouts of joint states: one a publisher on the topic."""

SIZES = {
    **dict.fromkeys(('boolean', 'octet', 'char', 'byte', 'int8', 'uint8'), 1),
    **dict.fromkeys(('int16', 'uint16'), 2),
    **dict.fromkeys(('int32', 'uint32', 'float'), 4),
    **dict.fromkeys(('int64', 'uint64', 'double'), 8),
}


def packed_stamp(stamp: int) -> bytes:
    """A stamp [ns] as templates take it."""
    return STAMP.pack(*divmod(stamp, NANOSECONDS))


class MalformedMessageError(DynamicsRosError):
    """Bytes that are not the message that they should be."""


# --- what comes in ------------------------------------------------------------------------------


class Layout:
    """Where everything is in a joint state with these names and lengths.

    Attributes:
        names: the joints.
    """

    def __init__(
        self,
        data: bytes,
        fields: struct.Struct,
        arrays: tuple[tuple[int, int], ...],
        order: str,
        names: tuple[str, ...],
    ) -> None:
        """Of the first message that is laid out so.

        Args:
            data: the message.
            fields: reads all but the numbers and what lies between fields, where middleware
                leaves what was in memory.
            arrays: where the numbers of position, velocity and effort begin, and how many there
                are.
            order: of the bytes of numbers.
            names: the joints.
        """
        self.names = names
        self._size = len(data)
        self._fields = fields
        self._head, _, _, *self._same = fields.unpack_from(data)
        self._order = order
        self._native = np.dtype(f'{order}f8').isnative
        self._arrays = arrays
        self._number = np.dtype(f'{order}f8')
        # Which bytes are no numbers: before, between and behind the arrays.
        ends = [begin + 8 * count for begin, count in arrays]
        begins = [begin for begin, _ in arrays]
        sizes = [count for _, count in arrays]
        format_ = f'{order}{ENCAPSULATION}siI'
        for begin, end, count in zip([STAMP_END, *ends], [*begins, len(data)], [*sizes, 0]):
            format_ += f'{end - begin}s{8 * count}x'
        self._whole = struct.Struct(format_)
        self._remember(data)
        self._meaning = _compared(fields.format)
        # Between them is the length of the next, as long as one number with what fills up.
        each = len(names)
        block = each and sizes == [each] * 3 and self._native
        self._block = sum(sizes) + 2 if block else 0

    def read(self, data: bytes) -> JointValues | None:
        """The stamp and the numbers, which share the memory of the bytes; None if it is another."""
        if len(data) != self._size:
            return None
        head, seconds, nanoseconds, *between = self._whole.unpack(data)
        # Mostly all bytes are those of the last message, also those that mean nothing.
        if between != self._bytes or head != self._head:
            head, _, _, *same = self._fields.unpack_from(data)
            if head != self._head or same != self._same:
                return None
            self._remember(data)
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
        """Several messages, the first of them laid out so; None if another one is not."""
        count, size = len(messages), self._size
        data = b''.join(messages)
        if len(data) != count * size:
            return None
        rows = np.frombuffer(data, np.uint8).reshape(count, size)
        same = rows[:, self._meaning]
        if not (same == same[0]).all():
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

    def _remember(self, data: bytes) -> None:
        _, _, _, *self._bytes = self._whole.unpack(data)


class JointStateReader:
    """Reads joint states; what is the same as in one of the last messages is not read again."""

    def __init__(self) -> None:
        self._layouts: list[Layout] = []
        self._last: Layout | None = None

    def read(self, data: bytes) -> JointValues:
        """What a joint state says.

        Raises:
            MalformedMessageError: it is none.
        """
        for layout in self._layouts:
            values = layout.read(data)
            if values is not None:
                self._last = layout
                return values
        scanner = Scanner.of(data)
        if scanner is None:
            return joint_values(deserialized(data, JointState))
        layout = _scanned(scanner)
        for old in self._layouts:
            if old.names == layout.names:
                # The same object, so that nobody has to compare names again.
                layout.names = old.names
        self._layouts = [layout, *self._layouts[: REMEMBERED - 1]]
        self._last, values = layout, layout.read(data)
        assert values is not None, 'a layout fits what it was made of'
        return values

    def read_all(self, messages: Sequence[bytes]) -> JointValues | None:
        """What several joint states say, a row each; None if they are laid out in different ways.

        Args:
            messages: at least one, all of the same length.

        Raises:
            MalformedMessageError: the first one is none.
        """
        self._last = None
        self.read(messages[0])
        return None if self._last is None else self._last.read_all(messages)


class Scanner:
    """Goes through the bytes of a message once, and never beyond their end."""

    def __init__(self, data: bytes, order: str) -> None:
        self.data = data
        self.order = order
        self.at = ENCAPSULATION
        # The last two bits of the encapsulation count bytes that fill up the message.
        self.end = len(data) - (data[ENCAPSULATION - 1] & 3)
        self.format = [f'{order}{ENCAPSULATION}s']
        self._length = struct.Struct(f'{order}I')

    @classmethod
    def of(cls, data: bytes) -> Scanner | None:
        """A scanner for plain XCDR1 of either byte order; None for another encapsulation.

        Raises:
            MalformedMessageError: too short to have one.
        """
        if len(data) < ENCAPSULATION:
            raise MalformedMessageError(f'{len(data)} bytes')
        order = {b'\x00\x00': '>', b'\x00\x01': '<'}.get(bytes(data[:2]))
        return None if order is None else cls(data, order)

    def skip(self, count: int) -> int:
        """Go on; where it was before."""
        begin, self.at = self.at, self.at + count
        if self.at > self.end:
            raise MalformedMessageError(f'ends after {self.end} bytes, within a field')
        return begin

    def align(self, size: int) -> None:
        """Go on to where a number of so many bytes may stand."""
        between = -(self.at - ENCAPSULATION) % size
        self.skip(between)
        self.format.append(f'{between}x')

    def length(self) -> int:
        """The length of a string or a sequence."""
        self.align(4)
        self.format.append('4s')
        return int(self._length.unpack_from(self.data, self.skip(4))[0])

    def string(self) -> str:
        """A string."""
        size = self.length()
        begin = self.skip(size)
        self.format.append(f'{size}s')
        text, zero, rest = self.data[begin : begin + size].partition(b'\0')
        if rest or (text and not zero):
            raise MalformedMessageError('a string does not end where it should')
        return text.decode(errors='replace')

    def numbers(self) -> tuple[int, int]:
        """Where the numbers of a float64[] begin, and how many there are."""
        count = self.length()
        if count:
            self.align(8)
        begin = self.skip(8 * count)
        self.format.append(f'{8 * count}x')
        return begin, count


def _scanned(scanner: Scanner) -> Layout:
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


def _compared(fields: str) -> NDArray[np.intp]:
    """Which bytes of a message have the same meaning in all of a layout: neither stamp nor numbers.

    Args:
        fields: format of the struct that reads them, which skips numbers and what fills up.
    """
    found: list[int] = []
    at = 0
    for text, kind in re.findall(r'(\d*)([a-zA-Z])', fields):
        size = int(text or 1) * (4 if kind in 'iI' else 1)
        if kind == 's':
            found += range(at, at + size)
        at += size
    return np.array(found, dtype=np.intp)


def deserialized(data: bytes, kind: Any) -> Any:
    """The message object of a message type that the middleware makes of bytes.

    Raises:
        MalformedMessageError: it makes none.
    """
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # of no type that rclpy promises
        raise MalformedMessageError(f'encapsulation {data[:2].hex()}: {error}') from None


# --- what goes out ------------------------------------------------------------------------------
