# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings as frozen dataclasses whose fields carry a description and value constraints.

The nodes declare these fields as ROS parameters.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from dynamics_ros.errors import InvalidArgumentError, meant

Settings = TypeVar('Settings')
Names = tuple[str, ...]

NUMBERS = tuple[float, ...]
LISTS = (NUMBERS, tuple[str, ...])
"""Field types that are lists."""

QUOTE = 'quote a name that YAML takes for a number or a switch: "y", "1e5"'

LARGEST = 1e30
"""Largest size of a number without other limits: products of a few of them must stay finite."""

MAX_GRAVITY = 30.0
"""Largest gravity [m/s^2]; more than on any planet. Compensation of a wrong one flings an arm."""


@dataclass(frozen=True)
class Constraint:
    """Description of a parameter and the constraints on its value."""

    description: str
    unit: str = ''
    minimum: float = -LARGEST
    maximum: float = LARGEST
    choices: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    may_be_infinite: bool = False
    read_only: bool = False
    is_frame: bool = False


def check_frame_id(argument: str, frame_id: str) -> None:
    """Refuse a frame name, or the beginning of frame names, that tf2 does not look up.

    Raises:
        InvalidArgumentError: it begins with a slash, or has characters that cannot be printed.
    """
    if not frame_id.isprintable():
        raise InvalidArgumentError(argument, repr(frame_id), 'characters that can be printed')
    if frame_id.startswith('/'):
        expected = f"no '/' at its start, which tf2 refuses: {frame_id.lstrip('/')!r}"
        raise InvalidArgumentError(argument, repr(frame_id), expected)


def parameter(default: Any, text: str, unit: str = '', limits: Any = (), **rule: Any) -> Any:
    """Creates a field of a settings dataclass; see Constraint, whose limits may be a pair."""
    rule |= zip(('minimum', 'maximum'), limits, strict=False)
    return dataclasses.field(
        default=default, metadata={'constraint': Constraint(text, unit, **rule)}
    )


@dataclass(frozen=True)
class Declared:
    """A field made with ``parameter()``, found in a dataclass or in one of its nested groups."""

    path: Names
    type: Any
    default: Any
    constraint: Constraint

    @property
    def name(self) -> str:
        """Dotted name, e.g. ``observer.gain``."""
        return '.'.join(self.path)

    def typed(self, value: Any) -> Any:
        """Converts a value to the declared type where the conversion is unambiguous.

        `ros2 param` guesses types: 1 becomes an integer, 1e-05 and inf become strings, and so does
        a list that contains one of them or mixes whole numbers with others.

        Raises:
            InvalidArgumentError: the value cannot be read as that type.
        """
        if self.type not in LISTS:
            return self._element_typed(value, self.type)
        element = typing.get_args(self.type)[0]
        if element is float and isinstance(value, str) and value.startswith('['):
            value = value.strip('[]').split(',')
        values = (value,) if isinstance(value, str | float | int) else value
        return tuple(self._element_typed(item, element) for item in values)

    def _element_typed(self, value: Any, kind: type) -> Any:
        given = value
        if not isinstance(value, bool):
            if kind is float and isinstance(value, int | str):
                with suppress(ValueError):
                    value = float(value)
            elif kind is int and isinstance(value, float) and value.is_integer():
                value = int(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            problem = f'{given!r} is of type {type(given).__name__}'
            cure = f'; {QUOTE}' if kind is str else ''
            raise InvalidArgumentError(self.name, problem, kind.__name__ + cure)
        return value

    def checked(self, value: Any) -> Any:
        """Validates a value and returns it as the dataclass stores it.

        Raises:
            InvalidArgumentError: wrong type, length or range, or not one of the choices.
        """
        if value is None:
            return self.default
        value = self.typed(value)
        rule = self.constraint
        if self.type in LISTS and rule.sizes and len(value) not in rule.sizes:
            lengths = ' or '.join(map(str, rule.sizes))
            raise InvalidArgumentError(
                self.name, f'has {len(value)} values', f'a length of {lengths}'
            )
        for element in value if self.type in LISTS else (value,):
            self._check_element(element)
        return value

    def _check_element(self, value: Any) -> None:
        rule = self.constraint
        if isinstance(value, float | int) and not isinstance(value, bool):
            infinite = rule.may_be_infinite and value == math.inf
            if not (infinite or rule.minimum <= value <= rule.maximum):
                huge = LARGEST < abs(value) < math.inf
                expected = f'at most {LARGEST:g} in size' if huge else self.range()
                raise InvalidArgumentError(self.name, repr(value), expected)
        if rule.is_frame:
            check_frame_id(self.name, value)
        if rule.choices and value not in rule.choices:
            raise InvalidArgumentError(self.name, repr(value), f'one of {rule.choices}')

    def range(self) -> str:
        """The accepted number range as text."""
        rule = self.constraint
        low, high = rule.minimum > -LARGEST, rule.maximum < LARGEST
        if low and high:
            return f'{rule.minimum:g} to {rule.maximum:g}'
        if low:
            return f'at least {rule.minimum:g}'
        return f'at most {rule.maximum:g}' if high else 'a finite number'

    @property
    def bounded(self) -> bool:
        """Whether a number has a smallest or a largest value."""
        rule = self.constraint
        return rule.minimum > -LARGEST or rule.maximum < LARGEST

    def notes(self) -> str:
        """The constraints that a range of two finite numbers cannot express, as text."""
        rule, is_list = self.constraint, self.type == NUMBERS
        notes = []
        if rule.choices:
            notes.append('one of ' + ', '.join(map(repr, rule.choices)))
        if rule.sizes:
            notes.append('length ' + ' or '.join(map(str, rule.sizes)))
        if self.bounded and (is_list or rule.may_be_infinite or self.type is int):
            each, infinite = 'each ' * is_list, ' or inf' * rule.may_be_infinite
            notes.append(f'{each}{self.range()}{infinite}')
        return '; '.join(notes)


def declared(kind: type, prefix: Names = ()) -> Iterator[Declared]:
    """Yields every parameter of a dataclass and of its nested groups."""
    hints = typing.get_type_hints(kind)
    for item in dataclasses.fields(kind):
        path = (*prefix, item.name)
        constraint = item.metadata.get('constraint')
        if constraint is None:
            yield from declared(hints[item.name], path)
        else:
            yield Declared(path, hints[item.name], item.default, constraint)


def replaced(settings: Settings, path: Names, value: Any) -> Settings:
    """Returns a copy of the settings with one value replaced."""
    name, *rest = path
    if rest:
        value = replaced(getattr(settings, name), tuple(rest), value)
    return dataclasses.replace(settings, **{name: value})  # type: ignore[type-var]


def undeclared(name: str, known: Iterable[str]) -> str:
    """Returns the error text for a value whose parameter is not among the known ones."""
    return f'there is no parameter {name!r}: its value is not used{meant(name, known)}'
