# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks and conversions of array arguments for compiled code."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.symbols import is_symbolic
from dynamics_ros.kernels.graph.trace import Shape, Variable

Array = NDArray[np.float64]

FLOAT64 = np.dtype(np.float64)


def as_input(variable: Variable, value: Any) -> Array:
    """Return an argument as an array of floats whose trailing axes are contiguous.

    Raises:
        InvalidArgumentError: the value is not an array of real numbers or has a wrong shape.
    """
    rank = len(variable.shape)
    if (
        type(value) is np.ndarray
        and value.dtype is FLOAT64
        and value.flags.carray
        and value.shape[value.ndim - rank :] == variable.shape
        and value.ndim >= rank
    ):
        return value
    expected = _expected(variable.shape)
    array = real_array(variable.name, value, expected)
    if array.shape[array.ndim - rank :] != variable.shape or array.ndim < rank:
        raise InvalidArgumentError(variable.name, f'shape {array.shape}', expected)
    stride = array.itemsize
    for axis in range(array.ndim - 1, array.ndim - rank - 1, -1):
        if array.strides[axis] != stride:
            return np.ascontiguousarray(array)
        stride *= array.shape[axis]
    return array if array.flags.aligned else array.copy()


@lru_cache
def _expected(shape: Shape) -> str:
    return f'shape (..., {", ".join(map(str, shape))})'.replace(', )', ')')


def real_array(argument: str, value: ArrayLike, expected: str) -> Array:
    """Return an array of any shape as floats, without loss.

    Args:
        argument: name of the argument.
        value: numbers.
        expected: description of a valid value.

    Raises:
        InvalidArgumentError: the conversion would lose information, such as for complex numbers;
            names the argument.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT64:
        return value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        problem = 'rows of different lengths' if isinstance(error, ValueError) else 'no numbers'
        raise InvalidArgumentError(argument, problem, expected) from None
    if np.ma.is_masked(value):
        raise InvalidArgumentError(argument, 'masked entries', 'an array without a mask')
    # bool, signed, unsigned, float; not complex, text, time or object
    if array.dtype.kind not in 'biuf' and array.size:
        problem = 'text' if array.dtype.kind in 'US' else f'dtype {array.dtype}'
        if is_symbolic(value):
            problem = 'traced values (a traced function may call methods that have a kernel)'
        elif array.dtype == object and not array.ndim:
            # A mapping, or an object of another library.
            raise InvalidArgumentError(argument, f'a {type(value).__name__}', expected)
        raise InvalidArgumentError(argument, problem, 'real numbers')
    return array.astype(FLOAT64, copy=False)


def leading_shape(variables: Sequence[Variable], arrays: Sequence[Array]) -> tuple[int, ...]:
    """Return the broadcast shape of the leading axes of arrays.

    Raises:
        InvalidArgumentError: the leading axes do not broadcast.
    """
    shapes = [x.shape[: x.ndim - len(variable.shape)] for variable, x in zip(variables, arrays)]
    if not any(shapes):
        return ()
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    return broadcast([x.name for x in variables], shapes)


def broadcast(names: Iterable[str], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the broadcast shape of several leading shapes.

    Raises:
        InvalidArgumentError: they do not broadcast; the message names the arguments.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        problem, expected = ', '.join(map(str, shapes)), 'leading axes that broadcast'
        raise InvalidArgumentError(', '.join(names), f'leading axes {problem}', expected) from None


def over_states(array: Array, leading: tuple[int, ...], rank: int) -> tuple[Array, int]:
    """Return an array and its stride in bytes from state to state over broadcast leading axes.

    A single stride describes an array that all states share (stride 0) and most other arrays; the
    remaining ones are copied.
    """
    own = array.ndim - rank
    if not own:
        return array, 0
    if array.flags.c_contiguous and array.shape[:own] == leading:
        return array, array.itemsize * math.prod(array.shape[own:])
    states, trailing = math.prod(leading), array.shape[own:]
    rows = np.broadcast_to(array, leading + trailing).reshape(states, *trailing)
    return rows, rows.strides[0] if states > 1 else 0


def address(array: NDArray[Any]) -> int:
    """Return the address of an array's data."""
    return int(array.__array_interface__['data'][0])


def refuse_non_finite(variables: Sequence[Variable], arrays: Sequence[Array]) -> None:
    """Refuse arrays with NaN or infinite elements.

    Raises:
        InvalidArgumentError: an element is not finite; the message names the first one.
    """
    for variable, array in zip(variables, arrays):
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            where = tuple(int(i) for i in bad[0])
            element = f' at [{", ".join(map(str, where))}]' if where else ''
            raise InvalidArgumentError(variable.name, f'{array[where]}{element}', 'finite numbers')


def as_outputs(
    variables: Sequence[Variable],
    leading: tuple[int, ...],
    out: Any,
    inputs: Sequence[Array],
) -> tuple[list[Array], list[Array]]:
    """Return the arrays to return and the arrays to compute into, which may have to differ.

    Args:
        out: None, or the array to fill; a sequence of arrays for several outputs.
        inputs: results are first computed in a separate array if ``out`` overlaps one of these.

    Raises:
        InvalidArgumentError: ``out`` does not fit the results.
    """
    shapes = [leading + x.shape for x in variables]
    if out is None:
        fresh = [np.empty(shape) for shape in shapes]
        return fresh, fresh
    given = [out] if len(variables) == 1 else out
    if not isinstance(given, (list, tuple)) or len(given) != len(variables):
        raise InvalidArgumentError('out', _described(out), f'a tuple of {len(variables)} arrays')
    for variable, shape, array in zip(variables, shapes, given):
        if (
            not isinstance(array, np.ndarray)
            or array.shape != shape
            or array.dtype != FLOAT64
            or not array.flags.writeable
            or isinstance(array, np.ma.MaskedArray)
        ):
            raise InvalidArgumentError(
                'out',
                f'{_described(array)} for {variable.name}',
                f'a writeable float64 array of shape {shape}',
            )
    for i, array in enumerate(given):
        if any(np.shares_memory(array, x) for x in given[:i]):
            raise InvalidArgumentError('out', 'arrays that share memory', 'one array an output')
    work = []
    for i, array in enumerate(given):
        others = [*inputs, *(x for j, x in enumerate(given) if j != i)]
        direct = array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
        shared = any(np.may_share_memory(array, x) for x in others)
        work.append(array if direct and not shared else np.empty(array.shape))
    return list(given), work


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f'{value.dtype} array of shape {value.shape}'
    return type(value).__name__
