# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Settings as frozen dataclasses whose fields say what they mean and which values they take.

Nodes declare such fields as ROS parameters.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import sys
import typing
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from dynamics_ros.errors import InvalidArgumentError

Settings = TypeVar('Settings')
Names = tuple[str, ...]

NUMBERS = tuple[float, ...]
LISTS = (NUMBERS, tuple[str, ...])
"""Types of fields that are lists."""


@dataclass(frozen=True)
class Constraint:
    """What a parameter is and which values it takes."""

    description: str
    unit: str = ''
    minimum: float = -sys.float_info.max
    maximum: float = sys.float_info.max
    choices: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    may_be_infinite: bool = False
    read_only: bool = False


def parameter(default: Any, description: str, **constraint: Any) -> Any:
    """A field of a dataclass of settings; see Constraint for the keywords."""
    metadata = {'constraint': Constraint(description, **constraint)}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Declared:
    """A field made with ``parameter()``, as it is found in a dataclass or in the groups in it."""

    path: Names
    type: Any
    default: Any
    constraint: Constraint

    @property
    def name(self) -> str:
        """Dotted: ``observer.gain``."""
        return '.'.join(self.path)

    def typed(self, value: Any) -> Any:
        """The value in the declared type, where what it means does not depend on that.

        `ros2 param` guesses types: 1 is an integer, 1e-05 and inf are texts, and so is a list with
        one of them or with a whole number among others.

        Raises:
            InvalidArgumentError: it means nothing of that type.
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
            raise InvalidArgumentError(self.name, problem, kind.__name__)
        return value

    def checked(self, value: Any) -> Any:
        """The value as the dataclass holds it.

        Raises:
            InvalidArgumentError: wrong type, length, range, or not one of the choices.
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
            in_range = rule.minimum <= value <= rule.maximum or (
                rule.may_be_infinite and value == math.inf
            )
            if not in_range:
                raise InvalidArgumentError(self.name, repr(value), self.range())
        if rule.choices and value not in rule.choices:
            raise InvalidArgumentError(self.name, repr(value), f'one of {rule.choices}')

    def range(self) -> str:
        """Which numbers it takes, in words."""
        rule = self.constraint
        low = rule.minimum > -sys.float_info.max
        high = rule.maximum < sys.float_info.max
        if low and high:
            return f'{rule.minimum:g} to {rule.maximum:g}'
        if low:
            return f'at least {rule.minimum:g}'
        return f'at most {rule.maximum:g}' if high else 'a finite number'


def declared(kind: type, prefix: Names = ()) -> Iterator[Declared]:
    """Every parameter of a dataclass and of the groups in it."""
    hints = typing.get_type_hints(kind)
    for item in dataclasses.fields(kind):
        path = (*prefix, item.name)
        constraint = item.metadata.get('constraint')
        if constraint is None:
            yield from declared(hints[item.name], path)
        else:
            yield Declared(path, hints[item.name], item.default, constraint)


def replaced(settings: Settings, path: Names, value: Any) -> Settings:
    """The settings with one value changed."""
    name, *rest = path
    if rest:
        value = replaced(getattr(settings, name), tuple(rest), value)
    return dataclasses.replace(settings, **{name: value})  # type: ignore[type-var]


def undeclared(name: str, known: Iterable[str]) -> str:
    """What to say of a value for a parameter that is not among those known."""
    return f'there is no parameter {name!r}: its value is not used{meant(name, known)}'


def meant(name: str, known: Iterable[str]) -> str:
    """The name among those known that may have been meant, as the end of a sentence."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f'; was {close[0]!r} meant?' if close else ''
