# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of a scalar: a number, an array of numbers, or a symbolic expression.

A symbolic scalar has methods of these names (``x.sin()``, ``x.where_less(y, a, b)``). For an array
the functions call NumPy, element by element, and for a number ``math``. An algorithm that uses
these functions works for all three, so each formula is implemented once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

Scalar = Any
"""A float, an array of floats with one element per state, or a symbolic expression."""


def _elementary(name: str, meaning: str) -> Callable[[Scalar], Scalar]:
    of_number: Callable[[float], float] = getattr(math, name)
    of_array: Callable[[Any], Any] = getattr(np, name, of_number)

    def function(x: Scalar) -> Scalar:
        if hasattr(x, name):
            return getattr(x, name)()
        return of_array(x) if isinstance(x, np.ndarray) else of_number(x)

    function.__doc__, function.__name__, function.__qualname__ = meaning, name, name
    return function


sin = _elementary('sin', 'Sine of an angle [rad].')
cos = _elementary('cos', 'Cosine of an angle [rad].')
sqrt = _elementary('sqrt', 'Square root.')
exp = _elementary('exp', 'e to the power of x.')
log = _elementary('log', 'Natural logarithm.')
erfc = _elementary('erfc', 'Complementary error function of a number or a symbol.')


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y) in [-pi, pi] [rad]; 0 at the origin."""
    if hasattr(y, 'atan2'):
        return y.atan2(x)
    if isinstance(y, np.ndarray) or isinstance(x, np.ndarray):
        return np.arctan2(y, x)
    if not hasattr(x, 'atan2'):
        return math.atan2(y, x)
    # y is a number and x is symbolic: y has no method that could build the expression.
    if y == 0.0:
        return x.where_less(0.0, math.copysign(math.pi, y), y)
    return math.copysign(0.5 * math.pi, y) - (x.atan2(y) if y > 0.0 else -x.atan2(-y))


def where_less(a: Scalar, b: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """``then`` where a < b, else ``otherwise``; both are computed, so both should be finite."""
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
    """Run a loop with a data-dependent end, and return its last state.

    The body runs at least once, and ends the loop by its result. With symbols it becomes one loop
    of the trace, whose number of iterations is decided when the kernel runs. In that case the body
    may read numbers from its closure, but symbols only through ``captured``.

    Args:
        body: one iteration. It is called with the state, a list, and the captured values. It
            returns the next state, and whether to continue: a bool, a condition, or a scalar that
            is above zero to continue.
        initial: state before the first iteration.
        limit: largest number of iterations.
        captured: other values that the body needs: scalars, or nested lists of scalars.

    Raises:
        ValueError: the limit is below one, or the body changes the length of the state.
    """
    symbol = _first_symbol((initial, captured))
    if symbol is not None:
        return symbol.repeat(body, initial, limit, captured)
    if limit < 1:
        raise ValueError(f'a loop of {limit} turns; at least one is expected')
    state = list(initial)
    active: Any = True
    for _ in range(limit):
        next_state, go_on = body(list(state), *captured)
        if len(next_state) != len(state):
            raise ValueError(f'a next state of {len(next_state)} values; {len(state)} are expected')
        if isinstance(active, np.ndarray):
            # Elements whose loop has ended keep their state.
            next_state = [np.where(active, x, y) for x, y in zip(next_state, state, strict=True)]
        state = list(next_state)
        active = active & (go_on > 0)
        if not np.any(active):
            break
    return state


def _first_symbol(values: Any) -> Any:
    """Return the first symbol in nested lists; None if there is none."""
    if isinstance(values, (list, tuple)):
        return next((x for x in map(_first_symbol, values) if x is not None), None)
    return values if hasattr(values, 'where_less') else None


def refuse_less(value: Scalar, bound: float, error: Callable[[], Exception]) -> None:
    """Raise an error if a number, or an element of an array, is less than a bound.

    A symbol has no number yet and is accepted; the trace then computes inf or NaN for such values.

    Args:
        value: the value to check.
        bound: smallest accepted value.
        error: returns the error to raise.
    """
    if isinstance(value, np.ndarray):
        if (value < bound).any():
            raise error()
    elif isinstance(value, Real) and value < bound:
        raise error()
