# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arrays of traced values and NumPy's functions of them.

`Symbols` is an object array that applies NumPy's elementwise functions, sums, products and
comparisons element by element. The methods of an element decide whether it is an expression, a
condition or a number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from dynamics_ros.kernels.graph.operations import ABSOLUTE, ELEMENTARY, Operation


class Traced:
    """Value that is known only when the kernel runs; NumPy's functions treat it as an array."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc, method, inputs, options)


class Symbols(np.ndarray):
    """An object array whose elements are traced values and numbers."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        own = _FUNCTIONS.get(function)
        if own is not None:
            return own(*arguments, **options)
        result = super().__array_function__(function, types, arguments, options)
        return symbols(result) if isinstance(result, np.ndarray) else result


def symbols(value: Any) -> Any:
    """Return nested lists or an object array as Symbols; a scalar and other arrays as they are."""
    array = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    if not array.ndim:
        return array[()]
    return array.view(Symbols) if array.dtype == object else array


def is_symbolic(value: Any) -> bool:
    """Return whether a value is a traced value, or nested lists or an array that hold one."""
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(map(is_symbolic, value.ravel().tolist()))
    if isinstance(value, (list, tuple)):
        return any(map(is_symbolic, value))
    return isinstance(value, Traced)


def apply(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Apply a NumPy function to traced values.

    Args:
        ufunc, method, inputs, options: as ``__array_ufunc__`` gets them.

    Raises:
        TypeError: traced values do not support the function.
    """
    out = options.pop('out', None)
    scalar = _SCALAR.get(ufunc, _OF_SCIPY.get(ufunc.__name__))
    if scalar is None and ufunc not in _NATIVE:
        known = ', '.join(sorted({x.__name__ for x in (*_NATIVE, *_SCALAR)} | _OF_SCIPY.keys()))
        raise TypeError(f'{ufunc.__name__} takes no traced values; these do: {known}')
    plain = [_boxed(x) for x in inputs]
    function = ufunc if scalar is None else np.frompyfunc(scalar, getattr(ufunc, 'nin', 1), 1)
    if scalar is not None and method == 'reduce' and options.get('axis', 0) is None:
        plain, options = [plain[0].ravel()], {}
    if scalar is not None:
        options.pop('dtype', None)
    result = getattr(function, method)(*plain, **options)
    if isinstance(result, np.ndarray):
        result = symbols(result)
    if out is None:
        return result
    out[0][...] = result
    return out[0]


def where(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return ``then`` where a condition holds, else ``otherwise``; both are computed."""
    # NumPy's function of Symbols is this one, also if none of their elements is traced.
    if not any(isinstance(x, Symbols) or is_symbolic(x) for x in (condition, then, otherwise)):
        return np.where(condition, then, otherwise)
    chosen = np.frompyfunc(_select, 3, 1)
    return symbols(chosen(_boxed(condition), _boxed(then), _boxed(otherwise)))


def norm(x: Any, axis: int | None = None) -> Any:
    """Return the Euclidean norm of all entries, or along an axis; no derivative at zero."""
    values = np.asarray(x)
    if values.dtype != object:
        return np.linalg.norm(values.ravel() if axis is None else values, axis=axis)
    return apply(np.sqrt, '__call__', [np.sum(symbols(values) ** 2, axis=axis)], {})


def _boxed(value: Any) -> Any:
    """Return a value as a plain array; a traced one as an array of shape ()."""
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)):
        return np.array(value, dtype=object)
    box = np.empty((), dtype=object)
    # A NumPy number would dispatch back here when it meets a traced value.
    box[()] = value.item() if isinstance(value, np.generic) else value
    return box


def _by_method(row: Operation) -> Callable[[Any], Any]:
    """Return a function of a scalar: the method of a traced value, or NumPy's of a number."""
    name, ufunc = row.name, cast('np.ufunc', row.ufunc)
    return lambda x: getattr(x, name)() if hasattr(x, name) else ufunc(x)


def _extremum(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    name = ufunc.__name__

    def function(a: Any, b: Any) -> Any:
        if hasattr(a, name):
            return getattr(a, name)(b)
        return getattr(b, name)(a) if hasattr(b, name) else ufunc(a, b)

    return function


def _atan2(y: Any, x: Any) -> Any:
    if hasattr(y, 'atan2'):
        return y.atan2(x)
    return x.angle_at(y) if hasattr(x, 'angle_at') else np.arctan2(y, x)


def _select(condition: Any, then: Any, otherwise: Any) -> Any:
    if hasattr(condition, 'choose'):
        return condition.choose(then, otherwise)
    return then if condition else otherwise


def _sign(x: Any) -> Any:
    return _select(x > 0.0, 1.0, _select(x < 0.0, -1.0, 0.0))


def _not(condition: Any) -> Any:
    return ~condition if hasattr(condition, 'choose') else not condition


_NATIVE = frozenset(
    {
        *(np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.absolute),
        *(np.power, np.square, np.matmul, np.bitwise_and, np.bitwise_or),
    }
)
"""Functions that NumPy computes with the operators of the elements."""

_SCALAR: dict[Any, Callable[..., Any]] = {
    **{row.ufunc: _by_method(row) for row in ELEMENTARY if row.arity == 1 and row is not ABSOLUTE},
    np.arctan2: _atan2,
    np.arctan: lambda x: _atan2(x, 1.0),
    np.minimum: _extremum(np.minimum),
    np.maximum: _extremum(np.maximum),
    np.sign: _sign,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.logical_and: operator.and_,
    np.logical_or: operator.or_,
    np.logical_not: _not,
    np.invert: _not,
}
"""Functions of NumPy by their meaning for one element."""

_OF_SCIPY = {row.name: _by_method(row) for row in ELEMENTARY if not isinstance(row.ufunc, np.ufunc)}
"""Functions of scipy.special by their names, because importing it is slow."""

_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: where,
    np.linalg.norm: norm,
    np.clip: lambda x, low, high: np.minimum(np.maximum(x, low), high),
}
"""Functions of NumPy that need the truth values of elements."""
