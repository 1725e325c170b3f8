# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Conversion between NumPy arrays and nested lists of their components.

An array of shape (..., 3) is converted to a vector whose three components are arrays of the leading
shape. The functions of the spatial algebra then broadcast over all leading axes; they need no
separate implementation for arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError

Array = NDArray[np.float64]


def split(array: ArrayLike, shape: tuple[int | None, ...], argument: str) -> list[Any]:
    """Split the last axes of an array into nested lists.

    Args:
        array: numbers of shape (..., *shape).
        shape: expected lengths of the last axes; None stands for any length.
        argument: name of the array in the error message.

    Returns:
        Lists nested like ``shape``. Each entry is an array over the leading axes, or a float if
        there are none.

    Raises:
        InvalidArgumentError: the last axes have another shape.
    """
    numbers = np.asarray(array, dtype=np.float64)
    last = numbers.shape[numbers.ndim - len(shape) :] if numbers.ndim >= len(shape) else None
    if last is None or any(n not in (None, m) for n, m in zip(shape, last)):
        expected = ', '.join('n' if n is None else str(n) for n in shape)
        raise InvalidArgumentError(
            argument, f'shape {numbers.shape}', f'an array of shape (..., {expected})'
        )
    return _entries(numbers, len(shape))


def _entries(numbers: Array, depth: int) -> Any:
    if depth == 0:
        # Arithmetic with a plain float is ten times faster than with an array without axes.
        return numbers if numbers.ndim else float(numbers)
    parts = np.moveaxis(numbers, -depth, 0)
    return [_entries(part, depth - 1) for part in parts]


def stack(nested: Any, leading: tuple[int, ...] = ()) -> Array:
    """Stack nested rows of scalars into one array, the inverse of `split`.

    Args:
        nested: a scalar, an iterable of scalars, an iterable of rows, and so on. A scalar may be an
            array over the leading axes.
        leading: leading axes of the result, also where all scalars are constants.

    Returns:
        The array (..., *shape): the broadcast leading axes, then the axes of the nesting.
    """
    flat: list[Any] = []
    shape = _collect(nested, flat)
    entries = [np.asarray(x, dtype=np.float64) for x in flat]
    leading = np.broadcast_shapes(leading, *(entry.shape for entry in entries))
    result = np.stack([np.broadcast_to(entry, leading) for entry in entries], axis=-1)
    return result.reshape(*leading, *shape)


def _collect(nested: Any, flat: list[Any]) -> tuple[int, ...]:
    """Append the scalars of ``nested`` to ``flat`` in order; return the shape of the nesting."""
    if isinstance(nested, np.ndarray) or not isinstance(nested, Iterable):
        flat.append(nested)
        return ()
    shapes = [_collect(part, flat) for part in nested]
    return (len(shapes), *shapes[0])
