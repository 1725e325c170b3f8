# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of a scalar: a number, an array of numbers, or a symbolic expression.

A symbolic scalar brings its own methods (``x.sin()``, ``x.where_less(y, a, b)``), an array goes to
NumPy, element by element, and a number to ``math``. What is written with these functions runs on
all three, so that each formula stands in the package once.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from numbers import Real
from typing import Any

import numpy as np

Scalar = Any
"""A float, an array of them (one element a state), or anything that calculates like one."""


def sin(x: Scalar) -> Scalar:
    """Sine of an angle in rad."""
    if hasattr(x, 'sin'):
        return x.sin()
    return np.sin(x) if isinstance(x, np.ndarray) else math.sin(x)


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle in rad."""
    if hasattr(x, 'cos'):
        return x.cos()
    return np.cos(x) if isinstance(x, np.ndarray) else math.cos(x)


def sqrt(x: Scalar) -> Scalar:
    """Square root."""
    if hasattr(x, 'sqrt'):
        return x.sqrt()
    return np.sqrt(x) if isinstance(x, np.ndarray) else math.sqrt(x)


def exp(x: Scalar) -> Scalar:
    """e to the power of x."""
    if hasattr(x, 'exp'):
        return x.exp()
    return np.exp(x) if isinstance(x, np.ndarray) else math.exp(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y) in rad, in [-pi, pi]; 0 at the origin."""
    if hasattr(y, 'atan2'):
        return y.atan2(x)
    if isinstance(y, np.ndarray) or isinstance(x, np.ndarray):
        return np.arctan2(y, x)
    if not hasattr(x, 'atan2'):
        return math.atan2(y, x)
    # A constant y and a symbolic x: what folds to a constant has no method of its own.
    if y == 0.0:
        return x.where_less(0.0, math.copysign(math.pi, y), y)
    return math.copysign(0.5 * math.pi, y) - (x.atan2(y) if y > 0.0 else -x.atan2(-y))


def where_less(a: Scalar, b: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """``then`` where a < b, else ``otherwise``; both are computed, so both must be finite."""
    if hasattr(a, 'where_less'):
        return a.where_less(b, then, otherwise)
    if hasattr(b, 'where_less'):
        return (-b).where_less(-a, then, otherwise)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.where(a < b, then, otherwise)
    return then if a < b else otherwise


def magnitude(x: Scalar) -> Scalar:
    """Absolute value."""
    return where_less(x, 0.0, -x, x)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two values."""
    return where_less(a, b, b, a)


def smaller(a: Scalar, b: Scalar) -> Scalar:
    """The smaller of two values."""
    return where_less(a, b, a, b)


def clipped(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """The value between two others that is nearest to x."""
    return where_less(x, low, low, where_less(high, x, high, x))


def repeat(
    body: Callable[..., tuple[Sequence[Scalar], Any]],
    initial: Sequence[Scalar],
    limit: int,
    *captured: Any,
) -> list[Scalar]:
    """The state after some turns of a loop, at least one: turns end when the body says so.

    On symbols this is one loop, whose turns are counted when the kernel runs; then the body may use
    numbers of its surroundings, but symbols of it only as ``captured``.

    Args:
        body: a turn: called with the state, a list, and the captured values, returns the next state
            and whether to go on: a bool, a condition, or a scalar above zero.
        initial: the first state.
        limit: the most turns.
        captured: what else the body needs: scalars or nested lists of them.
    """
    symbol = _first_symbol((initial, captured))
    if symbol is not None:
        return symbol.repeat(body, initial, limit, captured)
    if limit < 1:
        raise ValueError(f'a loop of {limit} turns; at least one is expected')
    state = list(initial)
    going: Any = True
    for _ in range(limit):
        following, go_on = body(list(state), *captured)
        if len(following) != len(state):
            raise ValueError(f'a next state of {len(following)} values; {len(state)} are expected')
        if isinstance(going, np.ndarray):
            # What has ended keeps its state.
            following = [np.where(going, x, y) for x, y in zip(following, state, strict=True)]
        state = list(following)
        going = going & (go_on > 0)
        if not np.any(going):
            break
    return state


def call(function: Callable[..., Any], times: int, *arguments: Any) -> Any:
    """What a function returns, which an algorithm calls again and again with like arguments.

    With symbols of a trace in which this is too often to be written out, the function runs once for
    each kind of arguments, and is a routine of the trace. Otherwise this is an ordinary call.

    Args:
        function: of a module; reads no symbols but its arguments.
        times: how often it is called, about.
        arguments: scalars, and lists and objects of them; what an object is made of are the
            parameters of its class. What the function returns consists of the same.
    """
    symbol = _symbol_in(arguments)
    if symbol is None:
        return function(*arguments)
    return symbol.call(function, times, arguments, _taken_apart, _put_together)


@cache
def _parameters(kind: type) -> tuple[str, ...] | None:
    """Return the parameters of a class of objects that consist of scalars; None for scalars."""
    if issubclass(kind, Real) or hasattr(kind, 'where_less'):
        return None
    return tuple(inspect.signature(kind).parameters)


def _symbol_in(value: Any) -> Any:
    """Return a symbol that a value consists of; None where there is none."""
    kind = value.__class__
    if kind is tuple or kind is list:
        parts: Iterable[Any] = value
    elif hasattr(kind, 'where_less'):
        return value
    elif kind is np.ndarray or (names := _parameters(kind)) is None:
        return None
    else:
        parts = [getattr(value, name) for name in names]
    return next((x for x in map(_symbol_in, parts) if x is not None), None)


def _taken_apart(value: Any, scalars: list[Scalar]) -> Any:
    """Append the scalars of a value, and return how they are arranged; None is a scalar."""
    kind = value.__class__
    if kind is tuple or kind is list:
        return kind, tuple([_taken_apart(part, scalars) for part in value])
    names = _parameters(kind)
    if names is None:
        scalars.append(value)
        return None
    return kind, tuple([_taken_apart(getattr(value, name), scalars) for name in names])


def _put_together(arrangement: Any, scalars: Iterator[Scalar]) -> Any:
    """Return a value from its scalars."""
    if arrangement is None:
        return next(scalars)
    kind, parts = arrangement
    values = [_put_together(part, scalars) for part in parts]
    return kind(values) if kind in (list, tuple) else kind(*values)


def _first_symbol(values: Any) -> Any:
    """Return a symbol of nested lists, None where there is none."""
    if isinstance(values, (list, tuple)):
        return next((x for x in map(_first_symbol, values) if x is not None), None)
    return values if hasattr(values, 'where_less') else None


def refuse_less(value: Scalar, bound: float, error: Callable[[], Exception]) -> None:
    """Raise where a number, or one of an array, is less than a bound.

    A symbol has no number yet and is not refused: what a trace computes there is inf or NaN.

    Args:
        value: what must not be too small.
        bound: the smallest that is accepted.
        error: makes the error to raise.
    """
    if isinstance(value, np.ndarray):
        if (value < bound).any():
            raise error()
    elif isinstance(value, Real) and value < bound:
        raise error()
