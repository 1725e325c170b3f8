"""Messages of which only stamps and numbers change: filled in place, in bytes or as an object."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from .cdr import LayoutError, Template

_log = logging.getLogger('dynamics_ros.nodes')


class Form(Protocol):
    """A message that is filled again and again."""

    def filled(self, seconds: int, nanoseconds: int, *values: Any) -> Any:
        """What a publisher takes; the numbers of each changing field in the order of its paths."""


class MessageForm:
    """The message object; what is used where its bytes are not known."""

    def __init__(self, prototype: Any, paths: Sequence[str]) -> None:
        """Keep the message.

        Args:
            prototype: with the lengths and strings that it keeps.
            paths: as of a ``Template``.
        """
        self._message = prototype
        self._paths = [path.split('.') for path in paths]
        self._headers = list(_headers(prototype))

    def filled(self, seconds: int, nanoseconds: int, *values: Any) -> Any:
        """The message; the same object each time."""
        for head in self._headers:
            head.stamp.sec, head.stamp.nanosec = seconds, nanoseconds
        for path, value in zip(self._paths, values):
            _put(self._message, path, iter(np.ravel(value).tolist()))
        return self._message


def make_form(prototype: Any, paths: Sequence[str]) -> Form:
    """Bytes where the middleware's layout is the known one, else the message object."""
    try:
        return Template(prototype, paths)
    except LayoutError as reason:
        _say_once(f'messages are serialised each time, which is slower: {reason}')
        return MessageForm(prototype, paths)


@lru_cache(maxsize=64)
def _say_once(text: str) -> None:
    _log.warning(text)


def _headers(message: Any) -> Iterable[Any]:
    if hasattr(message, 'header'):
        yield message.header
    for name, kind in message.get_fields_and_field_types().items():
        if kind.startswith('sequence<') and '/' in kind:
            for element in getattr(message, name):
                yield from _headers(element)


def _put(message: Any, path: Sequence[str], numbers: Iterator[float]) -> None:
    """Fill a field, or what it consists of, with numbers in their order."""
    name, *rest = path
    value = getattr(message, name)
    if isinstance(value, list):
        for element in value:
            _put(element, rest, numbers)
    elif rest:
        _put(value, rest, numbers)
    elif hasattr(value, 'get_fields_and_field_types'):
        for inner in value.get_fields_and_field_types():
            _put(value, [inner], numbers)
    elif isinstance(value, float):
        setattr(message, name, next(numbers))
    elif isinstance(value, array):
        setattr(message, name, array('d', (next(numbers) for _ in value)))
    else:
        setattr(message, name, [next(numbers) for _ in value])
