# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Between NumPy arrays and what the algebra calculates with: components that are arrays.

An array of shape (..., 3) is a vector whose three components have the leading shape. Calculating
with such components broadcasts over all leading axes, with the one implementation there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError

Array = NDArray[np.float64]


def split(array: ArrayLike, shape: tuple[int | None, ...], argument: str) -> list[Any]:
    """Nested lists of the entries of an array, each an array over the leading axes.

    Args:
        array: numbers of shape (..., *shape).
        shape: the last axes; None is any length.
        argument: name for the error.

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
        # A plain float calculates ten times faster than an array without axes.
        return numbers if numbers.ndim else float(numbers)
    parts = np.moveaxis(numbers, -depth, 0)
    return [_entries(part, depth - 1) for part in parts]


def stack(nested: Any, leading: tuple[int, ...] = ()) -> Array:
    """The array of nested rows of scalars, (..., *shape): their leading axes, then the nesting.

    Args:
        nested: a scalar, or anything iterable of scalars, of rows, and so on.
        leading: axes that the result has even where all scalars are constant.
    """
    flat: list[Any] = []
    shape = _collect(nested, flat)
    entries = [np.asarray(x, dtype=np.float64) for x in flat]
    leading = np.broadcast_shapes(leading, *(entry.shape for entry in entries))
    result = np.stack([np.broadcast_to(entry, leading) for entry in entries], axis=-1)
    return result.reshape(*leading, *shape)


def _collect(nested: Any, flat: list[Any]) -> tuple[int, ...]:
    """Append the scalars in order; return the nesting's shape."""
    if isinstance(nested, np.ndarray) or not isinstance(nested, Iterable):
        flat.append(nested)
        return ()
    shapes = [_collect(part, flat) for part in nested]
    return (len(shapes), *shapes[0])
