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
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from dynamics_ros.errors import DynamicsRosError

from .conversions import NANOSECONDS, JointValues, joint_values
from .fallbacks import Fallback, forced

ENCAPSULATION = 4
"""Bytes in front of the body; alignment is counted from there."""

STAMP = struct.Struct('=iI')
"""Seconds and nanoseconds of a stamp, in the byte order of this machine."""

STAMP_END = ENCAPSULATION + STAMP.size
"""Of the stamp of a message that begins with a header."""

MOST_SURPLUS = 32
"""Bytes that may follow the last field: middleware overestimates empty sequences, 8 bytes each."""

MOST_NAMES = 4096
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
        self._native = np.dtype(f'{order}f8').isnative
        self._stamp = struct.Struct(f'{order}iI')
        self._arrays = arrays
        self._number = np.dtype(f'{order}f8')
        # Which bytes are no numbers: before, between and behind the arrays.
        ends = [begin + 8 * count for begin, count in arrays]
        begins = [begin for begin, _ in arrays]
        self._between = [
            slice(*pair) for pair in zip([STAMP_END, *ends], [*begins, len(data)], strict=True)
        ]
        self._remember(data)
        sizes = [count for _, count in arrays]
        # Between them is the length of the next, as long as one number with what fills up.
        each = len(names)
        block = each and sizes == [each] * 3 and self._native
        self._block = sum(sizes) + 2 if block else 0

    def _is_like(self, data: bytes) -> bool:
        """Whether a message differs from the last one that was read in stamp and numbers only."""
        if len(data) != self._size or data[:ENCAPSULATION] != self._head:
            return False
        a, b, c, d = self._between
        before, first, second, behind = self._bytes
        return data[a] == before and data[b] == first and data[c] == second and data[d] == behind

    def read(self, data: bytes) -> JointValues | None:
        """The stamp and the numbers, which share the memory of the bytes; None if it is another."""
        # Mostly all bytes are those of the last message, also those that mean nothing.
        if not self._is_like(data):
            if len(data) != self._size:
                return None
            head, _, _, *same = self._fields.unpack_from(data)
            if head != self._head or same != self._same:
                return None
            self._remember(data)
        seconds, nanoseconds = self._stamp.unpack_from(data, ENCAPSULATION)
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

    def _remember(self, data: bytes) -> None:
        self._bytes = [data[part] for part in self._between]


class JointStateReader:
    """Reads joint states; what is the same as in one of the last messages is not read again."""

    def __init__(self) -> None:
        self._layouts: list[Layout] = []

    def read(self, data: bytes) -> JointValues:
        """What a joint state says.

        Raises:
            MalformedMessageError: it is none.
        """
        for layout in self._layouts:
            values = layout.read(data)
            if values is not None:
                return values
        scanner = _Scanner.of(data)
        if scanner is None:
            return joint_values(_deserialized(data))
        layout = _scanned(scanner)
        for old in self._layouts:
            if old.names == layout.names:
                # The same object, so that nobody has to compare names again.
                layout.names = old.names
        self._layouts = [layout, *self._layouts[: REMEMBERED - 1]]
        values = layout.read(data)
        assert values is not None, 'a layout fits what it was made of'
        return values


class _Scanner:
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
    def of(cls, data: bytes) -> _Scanner | None:
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


def _scanned(scanner: _Scanner) -> Layout:
    data = scanner.data
    scanner.skip(STAMP_END - ENCAPSULATION)
    scanner.format.append('iI')
    scanner.string()
    count = scanner.length()
    if count > MOST_NAMES:
        raise MalformedMessageError(f'{count} names; at most {MOST_NAMES} are read')
    names = tuple(scanner.string() for _ in range(count))
    arrays = tuple(scanner.numbers() for _ in range(3))
    if len(data) - scanner.at > MOST_SURPLUS:
        raise MalformedMessageError(f'{len(data) - scanner.at} bytes too many')
    fields = struct.Struct(''.join(scanner.format))
    return Layout(bytes(data), fields, arrays, scanner.order, names)


def _deserialized(data: bytes) -> JointState:
    try:
        message: JointState = deserialize_message(data, JointState)
    except Exception as error:
        raise MalformedMessageError(f'encapsulation {data[:2].hex()}: {error}') from None
    return message


# --- what goes out ------------------------------------------------------------------------------


class LayoutError(DynamicsRosError):
    """The middleware lays this message out in another way than is known here."""


class Template:
    """A message in bytes, of which only the stamps and some numbers change.

    Attributes:
        paths: the fields that change, each a float64, several in a row, or all in a message.
        numbers: for each of the paths its numbers (n); what is written there is in the next
            message.
    """

    def __init__(self, prototype: Any, paths: Sequence[str]) -> None:
        """Serialise once, and find where the numbers stand.

        Args:
            prototype: the message, with the lengths and strings that it keeps.
            paths: of the fields that change, such as ``pose`` or ``transforms.0.transform``.

        Raises:
            LayoutError: what the middleware makes of it is not understood.
        """
        if forced(Fallback.MESSAGES):
            raise LayoutError('fallback forced')
        walk = _Walk(2 * ENCAPSULATION)
        walk.message(prototype, '')
        found, end = walk.found, walk.at - ENCAPSULATION
        data = serialize_message(prototype)[:end]
        # The body, not the encapsulation, begins where a float64 may: arrays are aligned.
        self._buffer = bytearray(ENCAPSULATION) + bytearray(data)
        self._message = memoryview(self._buffer)[ENCAPSULATION:]
        self._stamps = [slice(at, at + STAMP.size) for _, kind, at in found if kind == 'stamp']
        self._doubles = np.frombuffer(self._buffer, np.float64, (len(data) + 4) // 8)
        places = [_places(found, path) for path in paths]
        self.paths = tuple(paths)
        self._check(type(prototype), data, places)
        self.numbers = tuple(self._doubles[place] for place in places)
        changing = [*self._stamps, *(slice(8 * x.start, 8 * x.stop) for x in places)]
        self._constant = _constant_fields(walk.spans, changing)
        self._constants = self._constant.unpack_from(data)

    def take(self, data: bytes) -> bool:
        """Take over stamps and numbers of a message that differs in nothing else.

        Returns:
            Whether it is such a message; nothing has changed where it is none.
        """
        size = len(self._message)
        if not size <= len(data) <= size + MOST_SURPLUS:
            return False
        if self._constant.unpack_from(data) != self._constants:
            return False
        self._message[:] = data[:size]
        return True

    def message(self, stamp: bytes) -> bytes:
        """The message.

        Args:
            stamp: of every header in it, packed as ``STAMP``.
        """
        buffer = self._buffer
        for at in self._stamps:
            buffer[at] = stamp
        return self._message.tobytes()

    def _check(self, kind: Any, data: bytes, places: Sequence[slice]) -> None:
        """Have the middleware read what is written here."""
        if data[:2] != struct.pack('>H', struct.pack('=H', 1)[0]):
            raise LayoutError(f'encapsulation {data[:2].hex()}')
        every = [i for place in places for i in range(place.start, place.stop)]
        original = self._doubles[every].copy()
        marks = np.arange(1.0, len(every) + 1.0)
        try:
            self._doubles[every] = marks
            message = deserialize_message(bytes(self._message), kind)
        except Exception as error:
            raise LayoutError(f'{kind.__name__}: {error}') from None
        read = [float(x) for path in self.paths for x in leaves(message, path)]
        self._doubles[every] = original
        if read != marks.tolist() or bytes(self._message) != data:
            raise LayoutError(f'{kind.__name__}: numbers stand elsewhere')


def leaves(message: Any, path: str) -> Iterator[float]:
    """The numbers of a field, in their order."""
    first, _, rest = path.partition('.')
    if first.isdigit():
        yield from leaves(message[int(first)], rest)
    elif isinstance(message, (list, tuple)):
        for element in message:
            yield from leaves(element, path)
    elif first:
        yield from leaves(getattr(message, first), rest)
    elif hasattr(message, 'get_fields_and_field_types'):
        for name in message.get_fields_and_field_types():
            yield from leaves(getattr(message, name), '')
    elif isinstance(message, float):
        yield message
    else:
        yield from message


def _places(found: Sequence[tuple[str, str, int]], path: str) -> slice:
    """Which float64 of the buffer belong to a field."""
    inside = f'{path}.'
    places = [
        at // 8 for name, kind, at in found if kind == 'double' and f'{name}.'.startswith(inside)
    ]
    if not places:
        raise LayoutError(f'there is no number in {path!r}')
    if places != list(range(places[0], places[0] + len(places))):
        raise LayoutError(f'something stands between the numbers of {path!r}')
    return slice(places[0], places[0] + len(places))


def _constant_fields(spans: Sequence[tuple[int, int]], changing: Sequence[slice]) -> struct.Struct:
    """Reads all fields of a message but those that change, and nothing that lies between them."""
    kept: list[tuple[int, int]] = []
    for begin, end in spans:
        if any(part.start <= begin < part.stop for part in changing):
            continue
        if kept and kept[-1][1] == begin:
            begin = kept.pop()[0]
        kept.append((begin, end))
    form, at = ['='], ENCAPSULATION
    for begin, end in kept:
        form.append(f'{begin - at}x{end - begin}s')
        at = end
    return struct.Struct(''.join(form))


class _Walk:
    """Lays a message out as the middleware does.

    Attributes:
        at: where the next field may begin.
        found: path, kind and place of stamps and float64.
        spans: begin and end of all that is not between fields.
    """

    def __init__(self, start: int) -> None:
        self.at = self.start = start
        self.found: list[tuple[str, str, int]] = []
        self.spans = [(start - ENCAPSULATION, start)]

    def message(self, message: Any, path: str) -> None:
        """One message, field after field."""
        for name, kind in message.get_fields_and_field_types().items():
            self.field(kind, getattr(message, name), f'{path}.{name}' if path else name)

    def field(self, kind: str, value: Any, path: str) -> None:
        """One field."""
        sequence = re.fullmatch(r'sequence<(.+?)(?:, \d+)?>', kind)
        array = re.fullmatch(r'(.+)\[\d+\]', kind)
        if sequence or array:
            if sequence:
                self.number(4)
            element = (sequence or array)[1]  # type: ignore[index]
            for i, item in enumerate(value):
                self.field(element, item, f'{path}.{i}')
        elif kind in SIZES:
            place = self.number(SIZES[kind])
            if kind == 'double':
                self.found.append((path, kind, place))
        elif kind.startswith('string'):
            self.number(4)
            begin, self.at = self.at, self.at + len(value.encode()) + 1
            self.spans.append((begin, self.at))
        elif '/' in kind:
            if kind == 'builtin_interfaces/Time' and path.endswith('header.stamp'):
                self.found.append((path, 'stamp', self.at + -(self.at - self.start) % 4))
            self.message(value, path)
        else:
            raise LayoutError(f'fields of type {kind}')

    def number(self, size: int) -> int:
        """Make room for a number; where it is."""
        self.at += -(self.at - self.start) % size
        begin, self.at = self.at, self.at + size
        self.spans.append((begin, self.at))
        return begin
