# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Message template as serialized bytes, in which stamps and numbers are written in place."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message

from dynamics_ros.errors import DynamicsRosError

from .cdr import ENCAPSULATION, SIZES, STAMP
from .fallbacks import Fallback, forced
from .message_template import MessageTemplate


class LayoutError(DynamicsRosError):
    """The layout of a serialized message differs from the expected one."""


class BytesTemplate(MessageTemplate):
    """Message template with preallocated bytes, whose numbers are written in place.

    Attributes:
        paths: changing fields; each is a float64, consecutive ones, or a message of these.
    """

    def __init__(self, prototype: Any, paths: Sequence[str]) -> None:
        """Serialize a message once, and locate its numbers.

        Args:
            prototype: message with the constant lengths and strings.
            paths: changing fields, such as ``pose`` or ``transforms.0.transform``.

        Raises:
            LayoutError: the layout of the serialized message is not the expected one.
        """
        if forced(Fallback.MESSAGES):
            raise LayoutError('fallback forced')
        layout = _LayoutBuilder(2 * ENCAPSULATION)
        layout.message(prototype, '')
        fields, end = layout.fields, layout.offset - ENCAPSULATION
        data = serialize_message(prototype)[:end]
        # Padded so that the body is aligned to 8 bytes, as float64 arrays have to be.
        self._buffer = bytearray(ENCAPSULATION) + bytearray(data)
        self._message = memoryview(self._buffer)[ENCAPSULATION:]
        whole = memoryview(self._buffer)
        self.stamps = [
            whole[offset : offset + STAMP.size] for _, kind, offset in fields if kind == 'stamp'
        ]
        self._doubles = np.frombuffer(self._buffer, np.float64, (len(data) + 4) // 8)
        slices = [_number_slice(fields, path) for path in paths]
        self.paths = tuple(paths)
        self._check(type(prototype), data, slices)
        self.packed = self._message.tobytes
        self.numbers = tuple(self._doubles[part] for part in slices)

    def _check(self, kind: Any, data: bytes, slices: Sequence[slice]) -> None:
        """Check that the middleware reads the numbers that are written here.

        Raises:
            LayoutError: it does not.
        """
        if data[:2] != struct.pack('>H', struct.pack('=H', 1)[0]):
            raise LayoutError(f'encapsulation {data[:2].hex()}')
        indices = [i for part in slices for i in range(part.start, part.stop)]
        original = self._doubles[indices].copy()
        marks = np.arange(1.0, len(indices) + 1.0)
        try:
            self._doubles[indices] = marks
            message = deserialize_message(bytes(self._message), kind)
        except Exception as error:
            raise LayoutError(f'{kind.__name__}: {error}') from None
        read = [float(x) for path in self.paths for x in numbers_of(message, path)]
        self._doubles[indices] = original
        if read != marks.tolist() or bytes(self._message) != data:
            raise LayoutError(f'{kind.__name__}: numbers stand elsewhere')


def numbers_of(message: Any, path: str) -> Iterator[float]:
    """Yield the numbers of a field in order."""
    first, _, rest = path.partition('.')
    if first.isdigit():
        yield from numbers_of(message[int(first)], rest)
    elif isinstance(message, (list, tuple)):
        for element in message:
            yield from numbers_of(element, path)
    elif first:
        yield from numbers_of(getattr(message, first), rest)
    elif hasattr(message, 'get_fields_and_field_types'):
        for name in message.get_fields_and_field_types():
            yield from numbers_of(getattr(message, name), '')
    elif isinstance(message, float):
        yield message
    else:
        yield from message


def _number_slice(fields: Sequence[tuple[str, str, int]], path: str) -> slice:
    """Return the indices of the float64 of a field in the buffer.

    Raises:
        LayoutError: the field has no numbers, or they are not consecutive.
    """
    inside = f'{path}.'
    indices = [
        offset // 8
        for name, kind, offset in fields
        if kind == 'double' and f'{name}.'.startswith(inside)
    ]
    if not indices:
        raise LayoutError(f'there is no number in {path!r}')
    if indices != list(range(indices[0], indices[0] + len(indices))):
        raise LayoutError(f'something stands between the numbers of {path!r}')
    return slice(indices[0], indices[0] + len(indices))


class _LayoutBuilder:
    """Computes the layout of a serialized message.

    Attributes:
        offset: offset after the last field [bytes].
        fields: path, kind ('stamp' or 'double') and offset [bytes] of each stamp and float64.
    """

    def __init__(self, start: int) -> None:
        self.offset = self.start = start
        self.fields: list[tuple[str, str, int]] = []

    def message(self, message: Any, path: str) -> None:
        """Add the fields of a message."""
        for name, kind in message.get_fields_and_field_types().items():
            self.field(kind, getattr(message, name), f'{path}.{name}' if path else name)

    def field(self, kind: str, value: Any, path: str) -> None:
        """Add a field of type ``kind``.

        Raises:
            LayoutError: the type is not supported.
        """
        sequence = re.fullmatch(r'sequence<(.+?)(?:, \d+)?>', kind)
        array = re.fullmatch(r'(.+)\[\d+\]', kind)
        if sequence or array:
            if sequence:
                self.number(4)
            element = (sequence or array)[1]  # type: ignore[index]
            for i, item in enumerate(value):
                self.field(element, item, f'{path}.{i}')
        elif kind in SIZES:
            offset = self.number(SIZES[kind])
            if kind == 'double':
                self.fields.append((path, kind, offset))
        elif kind.startswith('string'):
            self.number(4)
            self.offset += len(value.encode()) + 1
        elif '/' in kind:
            if kind == 'builtin_interfaces/Time' and path.endswith('header.stamp'):
                self.fields.append((path, 'stamp', self.offset + -(self.offset - self.start) % 4))
            self.message(value, path)
        else:
            raise LayoutError(f'fields of type {kind}')

    def number(self, size: int) -> int:
        """Add a number of ``size`` bytes; return its offset [bytes]."""
        self.offset += -(self.offset - self.start) % size
        begin, self.offset = self.offset, self.offset + size
        return begin
