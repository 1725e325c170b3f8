# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Creation of message templates: as bytes if their layout is known, otherwise as objects."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from .bytes_template import BytesTemplate, LayoutError, numbers_of
from .cdr import STAMP
from .message_template import MessageTemplate

_log = logging.getLogger('dynamics_ros.nodes')


class ObjectTemplate(MessageTemplate):
    """Message template as a message object, for unknown layouts of serialized messages."""

    def __init__(self, prototype: Any, paths: Sequence[str]) -> None:
        """Use a message object.

        Args:
            prototype: message with the constant lengths and strings.
            paths: changing fields, as for ``BytesTemplate``.
        """
        self._message, self._stamp = prototype, bytearray(STAMP.size)
        self.stamps = [memoryview(self._stamp)]
        self._paths = [path.split('.') for path in paths]
        self._headers = list(_headers(prototype))
        self.numbers = tuple(np.array([*numbers_of(prototype, path)]) for path in paths)

    def packed(self) -> Any:
        """Return the message; it is the same object each time."""
        for header in self._headers:
            header.stamp.sec, header.stamp.nanosec = STAMP.unpack(self._stamp)
        for path, values in zip(self._paths, self.numbers):
            _write(self._message, path, iter(values.tolist()))
        return self._message


def message_template(prototype: Any, paths: Sequence[str]) -> MessageTemplate:
    """Return a template as bytes if the layout is known, otherwise as a message object.

    Args:
        prototype: message with the constant lengths and strings.
        paths: changing fields, as for ``BytesTemplate``.
    """
    try:
        return BytesTemplate(prototype, paths)
    except LayoutError as reason:
        _warn_once(f'messages are serialised each time, which is slower: {reason}')
        return ObjectTemplate(prototype, paths)


def fill(template: MessageTemplate, values: Iterable[Any]) -> None:
    """Write the value of each changing field: an array (n) or a number."""
    for numbers, value in zip(template.numbers, values):
        numbers[:] = value


@lru_cache(maxsize=64)
def _warn_once(text: str) -> None:
    _log.warning(text)


def _headers(message: Any) -> Iterable[Any]:
    if hasattr(message, 'header'):
        yield message.header
    for name, kind in message.get_fields_and_field_types().items():
        if kind.startswith('sequence<') and '/' in kind:
            for element in getattr(message, name):
                yield from _headers(element)


def _write(message: Any, path: Sequence[str], numbers: Iterator[float]) -> None:
    """Write numbers in order to a field and its subfields."""
    name, *rest = path
    value = getattr(message, name)
    if rest and rest[0].isdigit():
        _write(value[int(rest[0])], rest[1:], numbers)
    elif isinstance(value, list):
        for element in value:
            inside = [rest] if rest else [[field] for field in element.get_fields_and_field_types()]
            for inner in inside:
                _write(element, inner, numbers)
    elif rest:
        _write(value, rest, numbers)
    elif hasattr(value, 'get_fields_and_field_types'):
        for field in value.get_fields_and_field_types():
            _write(value, [field], numbers)
    elif isinstance(value, float):
        setattr(message, name, next(numbers))
    elif isinstance(value, array):
        setattr(message, name, array('d', (next(numbers) for _ in value)))
    else:
        setattr(message, name, [next(numbers) for _ in value])
