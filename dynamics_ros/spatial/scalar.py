# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of a scalar: a number, an array of numbers, or a symbolic expression.

A symbolic scalar brings its own methods (``x.sin()``, ``x.where_less(y, a, b)``), an array goes to
NumPy, element by element, and a number to ``math``. What is written with these functions runs on
all three, so that each formula stands in the package once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
