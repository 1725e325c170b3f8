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
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from ..errors import DynamicsRosError
from .conversions import Array, JointValues, joint_values

ENCAPSULATION = 4
"""Bytes in front of the body; alignment is counted from there."""

STAMP_END = ENCAPSULATION + 8
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


class MalformedMessageError(DynamicsRosError):
    """Bytes that are not the message that they should be."""


# --- what comes in ------------------------------------------------------------------------------


class _Layout(NamedTuple):
    """Where everything is in a joint state with these names and lengths.

    Attributes:
        size: of the message.
        fields: reads all but the numbers and what lies between fields, where middleware leaves
            what was in memory.
        head: the encapsulation.
        same: what follows the stamp, as it is read.
        arrays: where the numbers of position, velocity and effort begin, and how many there are.
        number: type of the numbers.
        names: the joints.
    """

    size: int
    fields: struct.Struct
    head: bytes
    same: list[bytes]
    arrays: tuple[tuple[int, int], ...]
    number: np.dtype[np.float64]
    names: tuple[str, ...]

    def read(self, data: bytes) -> JointValues | None:
        """The stamp and the numbers, which share the memory of the bytes; None if it is another."""
        if len(data) != self.size:
            return None
        head, seconds, nanoseconds, *same = self.fields.unpack_from(data)
        if head != self.head or same != self.same:
            return None
        (p, n_p), (v, n_v), (e, n_e) = self.arrays
        position = np.frombuffer(data, self.number, n_p, p)
        velocity = np.frombuffer(data, self.number, n_v, v)
        effort = np.frombuffer(data, self.number, n_e, e)
        if not self.number.isnative:
            position, velocity, effort = (x.astype(float) for x in (position, velocity, effort))
        return JointValues(seconds, nanoseconds, self.names, position, velocity, effort)


class JointStateReader:
    """Reads joint states; what is the same as in one of the last messages is not read again."""

    def __init__(self) -> None:
        self._layouts: list[_Layout] = []

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
                layout = layout._replace(names=old.names)
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


def _scanned(scanner: _Scanner) -> _Layout:
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
    return _Layout(
        size=len(data),
        fields=fields,
        head=bytes(data[:ENCAPSULATION]),
        same=list(fields.unpack_from(data)[3:]),
        arrays=arrays,
        number=np.dtype(f'{scanner.order}f8'),
        names=names,
    )


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
    """

    def __init__(self, prototype: Any, paths: Sequence[str]) -> None:
        """Serialise once, and find where the numbers stand.

        Args:
            prototype: the message, with the lengths and strings that it keeps.
            paths: of the fields that change, such as ``pose`` or ``transforms.transform``; of a
                sequence of messages, the field of every one.

        Raises:
            LayoutError: what the middleware makes of it is not understood.
        """
        found, end = _fields(prototype)
        data = serialize_message(prototype)[:end]
        # The body, not the encapsulation, begins where a float64 may: arrays are aligned.
        self._buffer = bytearray(ENCAPSULATION) + bytearray(data)
        self._message = memoryview(self._buffer)[ENCAPSULATION:]
        self._stamps = [at for path, kind, at in found if kind == 'stamp']
        self._doubles = np.frombuffer(self._buffer, np.float64, (len(data) + 4) // 8)
        places = [_places(found, path) for path in paths]
        self.paths = tuple(paths)
        self._targets = [_target(self._doubles, place) for place in places]
        self._check(type(prototype), data, places)
        self._stamp = struct.Struct('=iI').pack_into

    def filled(self, seconds: int, nanoseconds: int, *values: Any) -> bytes:
        """The message.

        Args:
            seconds, nanoseconds: of every header in it.
            values: an array (n) or a number for each of the paths.
        """
        buffer, stamp = self._buffer, self._stamp
        for at in self._stamps:
            stamp(buffer, at, seconds, nanoseconds)
        for (numbers, where), value in zip(self._targets, values):
            numbers[where] = value
        return self._message.tobytes()

    def _check(self, kind: Any, data: bytes, places: Sequence[Sequence[int]]) -> None:
        """Have the middleware read what is written here."""
        if data[:2] != struct.pack('>H', struct.pack('=H', 1)[0]):
            raise LayoutError(f'encapsulation {data[:2].hex()}')
        every = [place for some in places for place in some]
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
    if isinstance(message, (list, tuple)):
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


def _places(found: Sequence[tuple[str, str, int]], path: str) -> list[int]:
    """Which float64 of the buffer belong to a field."""
    inside = f'{path}.'
    places = [
        at // 8 for name, kind, at in found if kind == 'double' and f'{name}.'.startswith(inside)
    ]
    if not places:
        raise LayoutError(f'there is no number in {path!r}')
    return places


def _target(doubles: Array, places: Sequence[int]) -> tuple[Array, Any]:
    """An array and what to index it with, to write numbers at these places."""
    first, count = places[0], len(places)
    if list(places) == list(range(first, first + count)):
        return doubles[first : first + count], ...
    return doubles, np.array(places)


def _fields(message: Any) -> tuple[list[tuple[str, str, int]], int]:
    """Stamps and float64 of a message, with path, kind and place in a template's buffer; its end.

    The end is counted from the begin of the message.
    """
    walk = _Walk(2 * ENCAPSULATION)
    walk.message(message, '')
    return walk.found, walk.at - ENCAPSULATION


class _Walk:
    """Lays a message out as the middleware does."""

    def __init__(self, start: int) -> None:
        self.at = self.start = start
        self.found: list[tuple[str, str, int]] = []

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
            for item in value:
                self.field(element, item, path)
        elif kind in SIZES:
            place = self.number(SIZES[kind])
            if kind == 'double':
                self.found.append((path, kind, place))
        elif kind.startswith('string'):
            self.number(4)
            self.at += len(value.encode()) + 1
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
        return begin
